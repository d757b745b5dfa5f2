#include "funk/segments.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "funk/funk_test_data.h"

namespace chunkstore::testing {
namespace {

constexpr uint64_t kPage = kvdyno::kDirectAlignment;

class SegmentsTest : public FunkTest {
 protected:
  // One segment of extents of these lengths, back to back, filled with bytes that show their place.
  std::vector<ExtentRef> WriteExtents(const std::vector<uint64_t>& lengths) {
    std::unique_ptr<SegmentWriter> writer;
    ExpectOk(segments_->Create(&writer));
    std::vector<ExtentRef> extents;
    for (const uint64_t length : lengths) {
      extents.push_back({writer->number(), writer->offset(), length, 1});
      std::string bytes(length, '\0');
      for (uint64_t i = 0; i < length; ++i) bytes[i] = ByteAt(writer->offset() + i);
      ExpectOk(writer->Append(bytes));
    }
    ExpectOk(writer->Finish(true));
    for (const ExtentRef& extent : extents) segments_->AddLive(extent);
    return extents;
  }
  static char ByteAt(uint64_t place) { return static_cast<char>(place * 31 + place / 251); }
  void ExpectBytes(const ExtentRef& extent, uint64_t offset, size_t length) {
    std::string bytes(length, '\0');
    ExpectOk(segments_->Read(extent, offset, length, bytes.data()));
    for (size_t i = 0; i < length; ++i) ASSERT_EQ(bytes[i], ByteAt(extent.offset + offset + i));
  }
  void ExpectWhole(const ExtentRef& extent) { ExpectBytes(extent, 0, extent.length); }
  bool Exists(uint64_t number) { return disk_.Exists(segments_->PathOf(number)); }
};

// A device's block is smaller than a page of the file system.
TEST_F(SegmentsTest, DirectReadsBringTheDevicesBlocksAlone) {
  const ExtentRef extent = WriteExtents({20'000})[0];
  ExpectBytes(extent, 1000, 100);
  EXPECT_EQ(segments_->read_bytes(), 2u * 512);
  std::vector<SegmentRead> reads = {{extent, 600, 400, {}, {}}, {extent, 8191, 2, {}, {}}};
  kvdyno::AlignedBuffer buffer;
  segments_->ReadTogether(&reads, &buffer);
  for (const SegmentRead& read : reads) {
    ExpectOk(read.status);
    for (size_t i = 0; i < read.length; ++i) {
      ASSERT_EQ(read.bytes[i], ByteAt(extent.offset + read.offset_in_run + i));
    }
  }
  EXPECT_EQ(segments_->read_bytes(), (2u + 1 + 2) * 512);
}

TEST_F(SegmentsTest, ReadsAnyRange) {
  std::mt19937_64 random(1);
  for (const bool direct : {true, false}) {
    Reopen(direct, 64);
    ExpectOk(segments_->Recover({}, false));
    const auto extents = WriteExtents({1, 5000, 4096, 2'500'000, 77});
    for (const ExtentRef& extent : extents) {
      ExpectWhole(extent);
      for (int i = 0; i < 50; ++i) {
        const uint64_t offset = random() % extent.length;
        ExpectBytes(extent, offset, random() % (extent.length - offset) % 20'000);
      }
    }
    uint64_t size = 0;
    ExpectOk(disk_.Size(segments_->PathOf(extents[0].segment), &size));
    EXPECT_EQ(size % kPage, 0u);
    EXPECT_EQ(segments_->file_bytes(), size);
    EXPECT_EQ(segments_->written_bytes(), size);
    EXPECT_EQ(segments_->live_bytes(), 1u + 5000 + 4096 + 2'500'000 + 77);
    EXPECT_GT(segments_->reads(), 0u);
  }
}

TEST_F(SegmentsTest, FinishedIsDurableUnfinishedIsGone) {
  const ExtentRef extent = WriteExtents({10'000}).front();
  std::unique_ptr<SegmentWriter> writer;
  ExpectOk(segments_->Create(&writer));
  const uint64_t unfinished = writer->number();
  ExpectOk(writer->Append(std::string(3 << 20, 'x')));
  EXPECT_TRUE(Exists(unfinished));
  writer.reset();
  EXPECT_FALSE(Exists(unfinished));
  disk_.LosePower(kvdyno::testing::Loss::kDropAll);
  disk_.Restart();
  Reopen(true, 64);
  ExpectOk(segments_->Recover({extent}, false));
  ExpectWhole(extent);
}

TEST_F(SegmentsTest, KeepsABoundedNumberOfFilesOpen) {
  Reopen(true, 16);
  std::vector<ExtentRef> extents;
  for (int i = 0; i < 60; ++i) extents.push_back(WriteExtents({3000}).front());
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&, seed] {
      std::mt19937_64 random(seed);
      for (int i = 0; i < 2000; ++i) ExpectBytes(extents[random() % extents.size()], 100, 200);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(segments_->open_files(), 16u);
  for (const ExtentRef& extent : extents) segments_->Free(extent);
  EXPECT_EQ(segments_->open_files(), 0u);
  EXPECT_EQ(segments_->file_bytes(), 0u);
}

TEST_F(SegmentsTest, FreedNeighboursGiveBackTheirSharedPages) {
  const auto extents = WriteExtents({3000, 3000, 3000, 3000, 10'000});
  const uint64_t all = 6 * kPage;  // 22,000 bytes and padding
  EXPECT_EQ(segments_->file_bytes(), all);
  segments_->Free(extents[1]);  // 3000 to 6000: no page of its own
  EXPECT_EQ(segments_->file_bytes(), all);
  segments_->Free(extents[3]);  // 9000 to 12000: none either
  EXPECT_EQ(segments_->file_bytes(), all);
  segments_->Free(extents[2]);  // together 3000 to 12000: the second page
  EXPECT_EQ(segments_->file_bytes(), all - kPage);
  segments_->Free(extents[0]);
  EXPECT_EQ(segments_->file_bytes(), all - 2 * kPage);
  EXPECT_EQ(segments_->live_bytes(), 10'000u);
  ExpectWhole(extents[4]);
  segments_->Free(extents[4]);
  EXPECT_EQ(segments_->file_bytes(), 0u);
  EXPECT_FALSE(Exists(extents[0].segment));
}

// A quarter of the file is dead before anything is punched, and then all that is dead.
TEST_F(SegmentsTest, DeadSpaceWaitsUntilThereIsMuchOfIt) {
  segments_ = std::make_unique<Segments>(&files_, kDirectory, true, 64, 2 * kPage, 0.25);
  const auto extents = WriteExtents(std::vector<uint64_t>(20, 2 * kPage));
  for (const size_t i : {0, 2, 4, 7}) segments_->Free(extents[i]);
  EXPECT_EQ(segments_->file_bytes(), 40 * kPage);
  segments_->Free(extents[5]);
  EXPECT_EQ(segments_->file_bytes(), 30 * kPage);
  for (const size_t i : {10, 11, 12}) segments_->Free(extents[i]);
  EXPECT_EQ(segments_->file_bytes(), 30 * kPage) << "a fifth of what is left";
  segments_->Free(extents[13]);
  EXPECT_EQ(segments_->file_bytes(), 22 * kPage);
  for (const ExtentRef& extent : extents) segments_->Free(extent);
  EXPECT_EQ(segments_->file_bytes(), 0u);
}

// What is too short for a hole does not have the whole file looked at again with every run that dies.
TEST_F(SegmentsTest, ShortHolesWaitUntilMuchMoreIsDead) {
  segments_ = std::make_unique<Segments>(&files_, kDirectory, true, 64, 4 * kPage, 0.25);
  const auto extents = WriteExtents(std::vector<uint64_t>(20, 2 * kPage));
  for (const size_t i : {0, 2, 4, 6, 8}) segments_->Free(extents[i]);
  EXPECT_EQ(segments_->file_bytes(), 40 * kPage) << "all are too short";
  for (const size_t i : {1, 3, 5, 7}) segments_->Free(extents[i]);
  EXPECT_EQ(segments_->file_bytes(), 40 * kPage) << "a fifth more is dead";
  segments_->Free(extents[9]);
  EXPECT_EQ(segments_->file_bytes(), 20 * kPage);
}

TEST_F(SegmentsTest, RandomFreesLeaveTheRestReadable) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  std::vector<ExtentRef> live;
  for (int file = 0; file < 4; ++file) {
    std::vector<uint64_t> lengths;
    for (int i = 0; i < 40; ++i) lengths.push_back(1 + random() % 9000);
    for (const ExtentRef& extent : WriteExtents(lengths)) live.push_back(extent);
  }
  std::shuffle(live.begin(), live.end(), random);
  while (!live.empty()) {
    segments_->Free(live.back());
    live.pop_back();
    if (live.size() == 80) {
      Reopen(true, 64);
      ExpectOk(segments_->Recover(live, false));
      segments_->PunchGaps();
    }
    if (live.size() % 10 == 0) {
      for (const ExtentRef& extent : live) ExpectWhole(extent);
      uint64_t bytes = 0;
      for (const ExtentRef& extent : live) bytes += extent.length;
      EXPECT_EQ(segments_->live_bytes(), bytes);
      // Only the pages that live runs touch are held.
      EXPECT_LE(segments_->file_bytes(), bytes + live.size() * 2 * kPage);
    }
  }
  EXPECT_EQ(segments_->file_bytes(), 0u);
  EXPECT_EQ(segments_->space_errors(), 0u);
}

TEST_F(SegmentsTest, RecoverRemovesStrangersAndGoesOnCounting) {
  const auto kept = WriteExtents({20'000, 20'000, 20'000});
  const auto stranger = WriteExtents({5000});
  Reopen(true, 64);
  ExpectOk(segments_->Recover({kept[1]}, true));
  EXPECT_TRUE(Exists(stranger[0].segment)) << "read only";
  Reopen(true, 64);
  ExpectOk(segments_->Recover({kept[1]}, false));
  EXPECT_FALSE(Exists(stranger[0].segment));
  EXPECT_EQ(segments_->next_number(), stranger[0].segment + 1);
  EXPECT_EQ(segments_->live_bytes(), 20'000u);
  EXPECT_EQ(segments_->file_bytes(), 15 * kPage);
  segments_->PunchGaps();
  EXPECT_EQ(segments_->file_bytes(), 6 * kPage) << "pages 4 to 9 hold the run";
  ExpectWhole(kept[1]);
  segments_->Free(kept[1]);
  EXPECT_FALSE(Exists(kept[1].segment));
}

TEST_F(SegmentsTest, RecoverNamesMissingAndShortFiles) {
  const ExtentRef extent = WriteExtents({20'000}).front();
  const std::string path = segments_->PathOf(extent.segment);
  ExpectOk(disk_.Truncate(path, 8192));
  std::string bytes(extent.length, '\0');
  EXPECT_EQ(segments_->Read(extent, 0, bytes.size(), bytes.data()).code(), Code::kCorruption);
  Reopen(true, 64);
  Status status = segments_->Recover({extent}, false);
  EXPECT_EQ(status.code(), Code::kCorruption);
  EXPECT_EQ(status.message(), "open " + path + ": expected 20000 bytes or more, got 8192");
  ExpectOk(disk_.Remove(path));
  Reopen(true, 64);
  status = segments_->Recover({extent}, false);
  EXPECT_EQ(status.message(), "open " + path + ": expected 20000 bytes or more, got 0");
}

TEST_F(SegmentsTest, NamesSparseSegmentsWhereHolesAreUnsupported) {
  files_.SetPlan([](const kvdyno::testing::Call& call) {
    return call.name == "punch" ? Status::Unsupported("punch: no holes here") : Status::Ok();
  });
  const auto extents = WriteExtents({40'000, 40'000});
  const auto full = WriteExtents({40'000});
  EXPECT_TRUE(segments_->SparseSegments(0.6).empty());
  segments_->Free(extents[0]);
  EXPECT_EQ(segments_->SparseSegments(0.6), std::vector<uint64_t>{extents[0].segment});
  EXPECT_TRUE(segments_->SparseSegments(0.3).empty());
  EXPECT_EQ(segments_->file_bytes(), 20 * kPage + 10 * kPage);
  EXPECT_EQ(segments_->space_errors(), 0u);
  ExpectWhole(extents[1]);
  ExpectWhole(full[0]);
}

TEST_F(SegmentsTest, SpaceThatCouldNotBeGivenBackIsTriedAgain) {
  const auto extents = WriteExtents({40'000, 40'000});
  const auto other = WriteExtents({10'000});
  files_.SetPlan([](const kvdyno::testing::Call& call) {
    return call.name == "punch" || call.name == "remove" ? Status::IoError("failed") : Status::Ok();
  });
  segments_->Free(extents[0]);
  segments_->Free(other[0]);
  EXPECT_EQ(segments_->space_errors(), 2u);
  EXPECT_EQ(segments_->file_bytes(), 20 * kPage + 3 * kPage);
  files_.SetPlan(nullptr);
  segments_->PunchGaps();
  EXPECT_EQ(segments_->file_bytes(), 11 * kPage);
  EXPECT_FALSE(Exists(other[0].segment));
  EXPECT_TRUE(segments_->SparseSegments(1).empty());
}

// A run that is not in the manifest yet must survive whatever happens to its neighbours.
TEST_F(SegmentsTest, WhatMayBecomeLiveIsLeftAlone) {
  std::unique_ptr<SegmentWriter> writer;
  ExpectOk(segments_->Create(&writer));
  ExpectOk(writer->Append(std::string(10'000, 'a')));
  ExpectOk(writer->Append(std::string(10'000, 'b')));
  ExpectOk(writer->Finish(false));
  const ExtentRef first = {writer->number(), 0, 10'000, 1};
  const ExtentRef second = {writer->number(), 10'000, 10'000, 1};
  segments_->AddLive(first);
  segments_->Free(first);
  segments_->PunchGaps();
  std::string bytes(second.length, '\0');
  ExpectOk(segments_->Read(second, 0, bytes.size(), bytes.data()));
  EXPECT_EQ(bytes, std::string(10'000, 'b'));
  segments_->Free(second);  // never added, after all
  EXPECT_FALSE(Exists(second.segment));
}

TEST_F(SegmentsTest, FailedFinishRemovesTheFile) {
  for (const char* failing : {"append", "sync", "sync directory"}) {
    SCOPED_TRACE(failing);
    files_.SetPlan([&](const kvdyno::testing::Call& call) {
      return call.name == failing ? Status::IoError("failed") : Status::Ok();
    });
    std::unique_ptr<SegmentWriter> writer;
    ExpectOk(segments_->Create(&writer));
    ExpectOk(writer->Append("bytes"));
    EXPECT_EQ(writer->Finish(true).code(), Code::kIoError);
    const uint64_t number = writer->number();
    writer.reset();
    EXPECT_FALSE(Exists(number));
    files_.SetPlan(nullptr);
  }
  EXPECT_EQ(segments_->file_bytes(), 0u);
}

TEST_F(SegmentsTest, ThreadsWriteAndGiveSpaceBack) {
  segments_->UseThreads();
  const auto extents = WriteExtents({3'000'000, 10, 1'500'000, 700'000});
  EXPECT_EQ(segments_->written_bytes(), segments_->file_bytes());
  for (const ExtentRef& extent : extents) ExpectWhole(extent);
  segments_->Free(extents[0]);
  segments_->WaitForSpace();
  EXPECT_LT(segments_->file_bytes(), 2'300'000u);
  for (size_t i = 1; i < extents.size(); ++i) ExpectWhole(extents[i]);
  for (size_t i = 1; i < extents.size(); ++i) segments_->Free(extents[i]);
  segments_->WaitForSpace();
  EXPECT_FALSE(Exists(extents[0].segment));
}

// Holes wait for their turn; meanwhile more space may die, which is given back with them.
TEST_F(SegmentsTest, SpaceThatDiesWhileOtherSpaceGoesBackIsNotForgotten) {
  segments_->UseThreads();
  const auto extents = WriteExtents(std::vector<uint64_t>(200, 2 * kPage));
  const auto live = WriteExtents({kPage});
  std::atomic<int> calls{0};
  files_.SetPlan([&calls](const kvdyno::testing::Call& call) {
    if (call.name != "punch") return Status::Ok();
    ++calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Status::Ok();
  });
  for (size_t i = 0; i + 1 < extents.size(); ++i) segments_->Free(extents[i]);
  segments_->WaitForSpace();
  EXPECT_EQ(segments_->file_bytes(), 2 * kPage + kPage);
  EXPECT_LT(calls, 200) << "one hole for what died together";
  files_.SetPlan(nullptr);
  ExpectWhole(extents.back());
  ExpectWhole(live[0]);
}

// The buffer that fails may be one that an Append before handed over.
TEST_F(SegmentsTest, AnEarlierWritesErrorComesWithALaterCall) {
  segments_->UseThreads();
  for (const int failing : {1, 2, 5}) {
    SCOPED_TRACE(failing);
    std::atomic<int> appends{0};
    files_.SetPlan([&](const kvdyno::testing::Call& call) {
      return call.name == "append" && ++appends == failing ? Status::NoSpace("full") : Status::Ok();
    });
    std::unique_ptr<SegmentWriter> writer;
    ExpectOk(segments_->Create(&writer));
    Status status;
    for (int i = 0; i < 40 && status.ok(); ++i) status = writer->Append(std::string(60'000, 'x'));
    if (status.ok()) status = writer->Finish(true);
    EXPECT_EQ(status.code(), Code::kNoSpace);
    EXPECT_EQ(writer->Finish(true).code(), Code::kNoSpace);
    EXPECT_EQ(appends, failing) << "nothing is written behind what is missing";
    const uint64_t number = writer->number();
    writer.reset();
    EXPECT_FALSE(Exists(number));
    files_.SetPlan(nullptr);
  }
}

TEST(RangeSet, AgreesWithABitmap) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  RangeSet set;
  std::vector<bool> bits(200);
  for (int step = 0; step < 20'000; ++step) {
    const uint64_t from = random() % bits.size();
    const uint64_t to = from + random() % std::min<uint64_t>(bits.size() - from, 30);
    const bool add = random() % 2 == 0;
    add ? set.Add({from, to}) : set.Subtract({from, to});
    for (uint64_t i = from; i < to; ++i) bits[i] = add;
    ASSERT_EQ(set.bytes(), static_cast<uint64_t>(std::count(bits.begin(), bits.end(), true)));
    std::vector<bool> seen(bits.size());
    uint64_t last = 0;
    for (const ByteRange& range : set.Overlap({from, bits.size()})) {
      ASSERT_TRUE(range.from > last || last == 0) << "neighbours that touch are one range";
      for (uint64_t i = range.from; i < range.to; ++i) seen[i] = true;
      last = range.to;
    }
    for (uint64_t i = from; i < bits.size(); ++i) ASSERT_EQ(seen[i], bits[i]);
  }
}

}  // namespace
}  // namespace chunkstore::testing
