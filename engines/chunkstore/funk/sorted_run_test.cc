#include "funk/sorted_run.h"

#include <atomic>
#include <thread>

#include "funk/funk_test_data.h"

namespace chunkstore::testing {
namespace {

class SortedRunTest : public FunkTest {
 protected:
  // Some 3.7 MB.
  static Entries ManyEntries() {
    Entries entries;
    for (uint64_t i = 0; i < 4000; ++i) {
      entries.push_back({Numbered("k", 10000 + i), std::string(900, 'v'), 3, EntryType::kValue});
    }
    return entries;
  }
  // Every version of every key, those around them, and keys that no run has.
  void ExpectLookups(const Entries& entries, const SortedRun& run) {
    std::string value;
    const auto ask = [&](std::string_view key, Version version) {
      LookupResult result;
      ExpectOk(Lookup(run, key, version, &value, &result));
      ExpectAnswer(entries, key, version, result, value);
    };
    for (const OwnedEntry& entry : entries) {
      ask(entry.key, entry.version);
      ask(entry.key, entry.version - 1);
      ask(entry.key, kNewest);
      ask(entry.key + '\0', kNewest);
      ask(entry.key.substr(0, entry.key.size() / 2), kNewest);
      if (HasFatalFailure()) return;
    }
  }
  void ExpectAll(const Entries& entries, const SortedRun& run) {
    ExpectLookups(entries, run);
    for (const size_t span : {size_t{0}, size_t{3000}, size_t{1} << 20, SIZE_MAX}) {
      ExpectCursor(entries, run.NewCursor(context_, span).get());
    }
    std::vector<std::string> problems;
    uint64_t blocks = 0;
    uint64_t count = 0;
    run.Check(&problems, &blocks, &count);
    EXPECT_TRUE(problems.empty()) << problems.front();
    EXPECT_EQ(count, entries.size());
  }
};

TEST_F(SortedRunTest, GivesBackWhatWasWritten) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 12; ++round) {
    Reopen(round % 2 == 0, 64);
    ExpectOk(segments_->Recover({}, false));
    context_.blocks = round % 3 == 0 ? nullptr : &cache_;
    context_.fill_cache = round % 3 == 1;
    const size_t block_size = size_t{256} << random() % 5;
    const std::vector<Entries> runs = {RandomEntries(&random, 1, 1, 10),
                                       RandomEntries(&random, 1 + random() % 900, 7, 9000),
                                       RandomEntries(&random, 50, 1, 9000)};
    const auto summaries = Write(runs, block_size);
    for (size_t i = 0; i < runs.size(); ++i) {
      ExpectAll(runs[i], *Open(summaries[i], random() % 2 == 0));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(SortedRunTest, FindsVersionsAcrossBlockBorders) {
  Entries entries;
  for (Version version = 1; version <= 400; ++version) {
    entries.push_back({"b", std::to_string(version), version, EntryType::kValue});
  }
  entries.push_back({"a", "first", 7, EntryType::kValue});
  entries.push_back({"c", "", 9, EntryType::kValue});
  Sort(&entries);
  const auto run = Open(Write({entries}, 256).front());
  ExpectAll(entries, *run);
}

TEST_F(SortedRunTest, HoldsLargeValues) {
  Entries entries;
  for (const size_t size :
       {0u, 1u, 511u, 512u, 513u, 70'000u, 1u << 20, (1u << 20) + 5, 3u << 20}) {
    entries.push_back({Numbered("key", size), std::string(size, 'v'), 5, EntryType::kValue});
  }
  entries.push_back({std::string(64 << 10, 'k'), "long key", 5, EntryType::kValue});
  Sort(&entries);
  context_.blocks = &cache_;
  ExpectAll(entries, *Open(Write({entries}).front(), false));
}

TEST_F(SortedRunTest, PointReadsTakeOneBlock) {
  Entries entries;
  for (uint64_t i = 0; i < 1000; ++i) {
    entries.push_back({Numbered("k", 1000 + i), std::string(700, 'v'), 3, EntryType::kValue});
  }
  const auto run = Open(Write({entries}).front());
  const uint64_t before = segments_->reads();
  std::string value;
  LookupResult result;
  for (const OwnedEntry& entry : entries) {
    ExpectOk(Lookup(*run, entry.key, kNewest, &value, &result));
  }
  EXPECT_EQ(segments_->reads() - before, entries.size());
  EXPECT_FALSE(result.from_cache);
}

TEST_F(SortedRunTest, ServesFromTheCacheWhatItRead) {
  context_.blocks = &cache_;
  std::mt19937_64 random(5);
  const Entries entries = RandomEntries(&random, 500, 1, 100);
  const auto run = Open(Write({entries}).front());
  ExpectLookups(entries, *run);
  const uint64_t before = segments_->reads();
  ExpectAll(entries, *run);
  EXPECT_LE(segments_->reads() - before, 2u) << "only the check of what is on disk reads";
  LookupResult result;
  std::string value;
  ExpectOk(Lookup(*run, entries.front().key, kNewest, &value, &result));
  EXPECT_TRUE(result.from_cache);
}

TEST_F(SortedRunTest, AReaderReadsPiecesAheadOfTheirUse) {
  const Entries entries = ManyEntries();
  const auto run = Open(Write({entries}, 4096).front());
  for (const bool threaded : {false, true}) {
    Worker reader(threaded);
    context_.reader = &reader;
    const uint64_t before = segments_->reads();
    const auto cursor = run->NewCursor(context_, run->extent().length);
    cursor->Seek({});
    ExpectRest(entries, entries.begin(), cursor.get());
    EXPECT_LE(segments_->reads() - before, 8u);
    ExpectCursor(entries, cursor.get());
    {
      const auto unused = run->NewCursor(context_, run->extent().length);
    }
  }
}

TEST_F(SortedRunTest, WhatAReaderCannotReadIsAnError) {
  const Entries entries = ManyEntries();
  const auto run = Open(Write({entries}, 4096).front());
  Worker reader(true);
  context_.reader = &reader;
  std::atomic<int> reads{0};
  files_.SetPlan([&reads](const kvdyno::testing::Call& call) {
    return call.name == "read" && ++reads > 2 ? Status::IoError("failed") : Status::Ok();
  });
  const auto cursor = run->NewCursor(context_, run->extent().length);
  size_t seen = 0;
  for (cursor->Seek({}); cursor->Valid(); cursor->Next()) ++seen;
  EXPECT_EQ(cursor->status().code(), Code::kIoError);
  EXPECT_GT(seen, 0u);
  EXPECT_LT(seen, entries.size());
  files_.SetPlan(nullptr);
  ExpectCursor(entries, cursor.get());
}

TEST_F(SortedRunTest, ReadsAheadInFewCalls) {
  const Entries entries = ManyEntries();
  const auto run = Open(Write({entries}, 4096).front());
  uint64_t before = segments_->reads();
  const auto whole = run->NewCursor(context_, size_t{1} << 30);
  whole->Seek({});
  ExpectRest(entries, entries.begin(), whole.get());
  EXPECT_LE(segments_->reads() - before, 4u);
  before = segments_->reads();
  const auto part = run->NewCursor(context_, 20 * 1000);
  part->Seek("k10500");
  for (int i = 0; i < 15; ++i) part->Next();
  EXPECT_EQ(segments_->reads() - before, 1u);
}

TEST_F(SortedRunTest, LoadsTheIndexOnceForAllThreads) {
  std::mt19937_64 random(6);
  const Entries entries = RandomEntries(&random, 300, 1, 100);
  const auto run = Open(Write({entries}).front(), false);
  EXPECT_EQ(run->memory(), 0u);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { ExpectLookups(entries, *run); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(run->memory(), 0u);
}

// With one key alone, neither first keys nor numbers of entries distinguish the blocks.
TEST_F(SortedRunTest, DetectsTwoBlocksOfOneKeyThatChangedPlaces) {
  Entries entries;
  for (Version version = 100; version < 200; ++version) {
    entries.push_back({"key", std::string(60, 'v'), version, EntryType::kValue});
  }
  Sort(&entries);
  const SortedRunSummary summary = WriteWithTwoBlocksSwapped(entries);
  const SortedRun run(segments_.get(), summary.extent, nullptr);
  std::string value;
  uint64_t refused = 0;
  for (const OwnedEntry& entry : entries) {
    LookupResult result;
    const Status status = Lookup(run, entry.key, entry.version, &value, &result);
    if (status.ok()) ExpectAnswer(entries, entry.key, entry.version, result, value);
    refused += status.code() == Code::kCorruption ? 1 : 0;
  }
  EXPECT_GT(refused, 0u);
  const auto cursor = run.NewCursor(context_, SIZE_MAX);
  for (cursor->Seek({}); cursor->Valid();) cursor->Next();
  EXPECT_EQ(cursor->status().code(), Code::kCorruption);
  std::vector<std::string> problems;
  uint64_t blocks = 0, count = 0;
  run.Check(&problems, &blocks, &count);
  EXPECT_EQ(problems.size(), 2u);
}

TEST_F(SortedRunTest, AFilterSavesTheReadsOfAbsentKeys) {
  const Entries entries = EqualEntries();
  const SortedRunSummary summary = Write({entries})[0];
  for (const bool with_index : {true, false}) {
    const auto run = Open(summary, with_index);
    std::string value;
    LookupResult result;
    ExpectOk(Lookup(*run, entries[0].key, kNewest, &value, &result));
    const uint64_t before = segments_->reads();
    uint64_t filtered = 0, located = 0;
    for (uint64_t i = 0; i < 1000; ++i) {
      const std::string key = Numbered("user100", i);  // behind the first, before the last
      ExpectOk(Lookup(*run, key, kNewest, &value, &result));
      EXPECT_FALSE(result.found);
      filtered += result.filtered ? 1 : 0;
      WantedBlock block;
      located += run->Locate(key, kvdyno::Hash64(key), &block) ? 1 : 0;
    }
    EXPECT_GT(filtered, 950u);
    EXPECT_EQ(located, 1000 - filtered);
    EXPECT_EQ(segments_->reads() - before, 1000 - filtered);
    ExpectLookups(entries, *run);
  }
}

TEST_F(SortedRunTest, DetectsTwoBlocksThatChangedPlaces) {
  const Entries entries = EqualEntries();
  const SortedRunSummary summary = WriteWithTwoBlocksSwapped(entries);
  const auto run = Open(summary);
  std::string value;
  for (const uint32_t block : {1U, 2U}) {
    const std::string key(summary.index->first_key(block));
    const Version version = Find(entries, key, kNewest)->version;
    LookupResult result;
    EXPECT_EQ(Lookup(*run, key, kNewest, &value, &result).code(), Code::kCorruption);
    const BlockPlace place = summary.index->blocks[block].place();
    EXPECT_EQ(LookupInBlock(context_, run->extent(), place, key, version, &value, &result).code(),
              Code::kCorruption);
    const auto cursor = run->NewCursor(context_, 0);
    cursor->Seek(key);
    EXPECT_FALSE(cursor->Valid());
    EXPECT_EQ(cursor->status().code(), Code::kCorruption);
  }
}

TEST_F(SortedRunTest, DetectsEveryFlippedBitOrIsNotHarmed) {
  std::mt19937_64 random(7);
  const Entries entries = RandomEntries(&random, 60, 1, 100);
  const ExtentRef extent = Write({RandomEntries(&random, 3, 1, 9), entries}).back().extent;
  const std::string path = segments_->PathOf(extent.segment);
  std::string value;
  for (uint64_t byte = 0; byte < extent.length; ++byte) {
    const uint64_t bit = (extent.offset + byte) * 8 + random() % 8;
    ExpectOk(disk_.Flip(path, bit));
    const SortedRun run(segments_.get(), extent, nullptr);
    std::vector<std::string> problems;
    uint64_t blocks = 0;
    uint64_t count = 0;
    run.Check(&problems, &blocks, &count);
    EXPECT_FALSE(problems.empty()) << "byte " << byte;
    uint64_t errors = 0;
    for (const OwnedEntry& entry : entries) {
      LookupResult result;
      const Status status = Lookup(run, entry.key, entry.version, &value, &result);
      if (status.ok()) {
        ExpectAnswer(entries, entry.key, entry.version, result, value);
      } else {
        EXPECT_NE(status.message().find(path), std::string::npos) << status.ToString();
        ++errors;
      }
    }
    EXPECT_GT(errors, 0u) << "byte " << byte;
    ExpectOk(disk_.Flip(path, bit));
    if (HasFailure()) return;
  }
}

TEST_F(SortedRunTest, ReportsReadErrorsAndRecovers) {
  std::mt19937_64 random(8);
  const Entries entries = RandomEntries(&random, 200, 1, 100);
  const SortedRunSummary summary = Write({entries}).front();
  const auto run = Open(summary, false);
  const auto fail = [](const kvdyno::testing::Call& call) {
    return call.name == "read" ? Status::IoError("read: failed") : Status::Ok();
  };
  std::string value;
  LookupResult result;
  files_.SetPlan(fail);
  EXPECT_EQ(Lookup(*run, entries[5].key, kNewest, &value, &result).code(), Code::kIoError);
  EXPECT_EQ(run->memory(), 0u);
  const auto cursor = run->NewCursor(context_, 0);
  cursor->Seek({});
  EXPECT_FALSE(cursor->Valid());
  EXPECT_EQ(cursor->status().code(), Code::kIoError);
  files_.SetPlan(nullptr);
  cursor->Seek({});
  ASSERT_TRUE(cursor->Valid());
  files_.SetPlan(fail);
  while (cursor->Valid()) cursor->Next();
  EXPECT_EQ(cursor->status().code(), Code::kIoError);
  std::vector<WantedBlock> wanted(1);
  wanted[0].extent = run->extent();
  wanted[0].place = summary.index->blocks[0].place();
  EXPECT_EQ(HoldTogether(context_, &wanted).code(), Code::kIoError);
  files_.SetPlan(nullptr);
  ExpectAll(entries, *run);
}

TEST_F(SortedRunTest, CursorsUseWhatWasReadAhead) {
  std::mt19937_64 random(11);
  std::vector<Entries> runs;
  for (int i = 0; i < 6; ++i) runs.push_back(RandomEntries(&random, 40, 2, 100));
  const std::vector<SortedRunSummary> first = Write(runs), second = Write(runs);
  ReadAhead ahead;
  context_.ahead = &ahead;
  for (int round = 0; round < 2; ++round) {
    const uint64_t before = segments_->reads();
    ahead.Fetch(*segments_, {second[4].extent, first[1].extent, first[2].extent, first[4].extent});
    EXPECT_EQ(segments_->reads(), before + 2) << "one call a segment";
    for (const SortedRunSummary& summary : {second[4], first[1], first[2], first[4]}) {
      EXPECT_EQ(ahead.Find(summary.extent).size(), summary.extent.length);
    }
    for (const size_t i : {1, 2, 4}) {
      ExpectCursor(runs[i], Open(first[i])->NewCursor(context_, 0).get());
    }
    EXPECT_EQ(segments_->reads(), before + 2);
    EXPECT_TRUE(ahead.Find(first[0].extent).empty());
    EXPECT_TRUE(ahead.Find(first[5].extent).empty());
    EXPECT_TRUE(ahead.Find(second[5].extent).empty());
    ExpectCursor(runs[5], Open(second[5])->NewCursor(context_, 0).get());
    EXPECT_GT(segments_->reads(), before + 2);
  }
}

// The cursor that needs the run returns the error.
TEST_F(SortedRunTest, WhatCannotBeReadAheadIsLeftOut) {
  std::mt19937_64 random(12);
  const Entries entries = RandomEntries(&random, 40, 2, 100);
  const SortedRunSummary one = Write({entries}).front(), other = Write({entries}).front();
  files_.SetPlan([](const kvdyno::testing::Call& call) {
    return call.name == "read" ? Status::IoError("failed") : Status::Ok();
  });
  ReadAhead ahead;
  context_.ahead = &ahead;
  ahead.Fetch(*segments_, {one.extent, other.extent});
  EXPECT_TRUE(ahead.Find(one.extent).empty());
  const auto run = Open(one);
  const auto cursor = run->NewCursor(context_, SIZE_MAX);
  cursor->Seek({});
  EXPECT_EQ(cursor->status().code(), Code::kIoError);
  files_.SetPlan(nullptr);
  ExpectCursor(entries, Open(one)->NewCursor(context_, SIZE_MAX).get());
}

TEST_F(SortedRunTest, GivesSpaceBackWhenObsolete) {
  std::mt19937_64 random(9);
  const SortedRunSummary summary = Write({RandomEntries(&random, 20, 1, 10)}).front();
  Open(summary);
  EXPECT_TRUE(disk_.Exists(segments_->PathOf(summary.extent.segment)));
  Open(summary)->MarkObsolete();
  EXPECT_FALSE(disk_.Exists(segments_->PathOf(summary.extent.segment)));
}

TEST_F(SortedRunTest, FailedWritesAreReported) {
  std::mt19937_64 random(10);
  std::unique_ptr<SegmentWriter> writer;
  ExpectOk(segments_->Create(&writer));
  const std::string path = segments_->PathOf(writer->number());
  files_.SetPlan([](const kvdyno::testing::Call& call) {
    return call.name == "append" ? Status(Code::kNoSpace, "append: full") : Status::Ok();
  });
  Append(writer.get(), RandomEntries(&random, 20, 1, 10));  // still in the buffer
  EXPECT_EQ(writer->Finish(true).code(), Code::kNoSpace);
  files_.SetPlan(nullptr);
  EXPECT_EQ(writer->Append("more").code(), Code::kNoSpace) << "the first error stays";
  writer.reset();
  EXPECT_FALSE(disk_.Exists(path));
  EXPECT_EQ(segments_->file_bytes(), 0u);
}

}  // namespace
}  // namespace chunkstore::testing
