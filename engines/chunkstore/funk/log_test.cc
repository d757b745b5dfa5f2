#include "funk/log.h"

#include <cmath>
#include <thread>

#include "funk/bloom.h"
#include "funk/funk_test_data.h"
#include "funk/key_index.h"
#include "kvdyno/base/hash.h"

namespace chunkstore::testing {
namespace {

// The newest entry of each key that a read at `version` sees.
Entries SeenAt(const Entries& entries, Version version) {
  Entries seen;
  for (const OwnedEntry& entry : entries) {
    if (entry.version > version || (!seen.empty() && seen.back().key == entry.key)) continue;
    seen.push_back(entry);
  }
  return seen;
}

// Leaves out what a reader skips: a log may give it, and by the index does not.
class SeenCursor final : public EntryCursor {
 public:
  SeenCursor(std::unique_ptr<EntryCursor> all, Version version)
      : all_(std::move(all)), version_(version) {}
  void Seek(std::string_view key) override {
    has_last_ = false;
    all_->Seek(key);
    Skip();
  }
  bool Valid() const override { return all_->Valid(); }
  void Next() override {
    all_->Next();
    Skip();
  }
  const Entry& entry() const override { return all_->entry(); }
  Status status() const override { return all_->status(); }
  size_t skipped() const { return skipped_; }

 private:
  void Skip() {
    while (all_->Valid() && (all_->entry().version > version_ ||
                             (has_last_ && all_->entry().key == std::string_view(last_)))) {
      ++skipped_;
      all_->Next();
    }
    if (!all_->Valid()) return;
    last_ = all_->entry().key;
    has_last_ = true;
  }

  const std::unique_ptr<EntryCursor> all_;
  const Version version_;
  std::string last_;
  bool has_last_ = false;
  size_t skipped_ = 0;
};

class LogTest : public FunkTest {
 protected:
  LogPolicy index_;
  LogPolicy bloom_{LogLookup::kBloom, 4, 10, 6000};

  // Runs as flushes would write them: each newer than those before.
  std::vector<SortedRunSummary> WriteRuns(std::mt19937_64* random, size_t runs,
                                          size_t longest = 2000) {
    std::vector<Entries> entries;
    Version version = 1;
    for (size_t i = 0; i < runs; ++i) {
      const size_t count = 1 + (*random)() % 60;
      entries.push_back(RandomEntries(random, count, version, longest));
      version += count;
      all_.insert(all_.end(), entries.back().begin(), entries.back().end());
    }
    Sort(&all_);
    return Write(entries, 256);
  }
  std::unique_ptr<Log> Grow(const LogPolicy& policy, const std::vector<SortedRunSummary>& runs) {
    auto log = std::make_unique<Log>(&policy, segments_.get(), std::vector<ExtentRef>());
    for (const SortedRunSummary& run : runs) log = log->With(run);
    return log;
  }
  static std::vector<ExtentRef> ExtentsOf(const std::vector<SortedRunSummary>& summaries) {
    std::vector<ExtentRef> extents;
    for (const SortedRunSummary& summary : summaries) extents.push_back(summary.extent);
    return extents;
  }
  std::unique_ptr<Log> Recovered(const LogPolicy& policy,
                                 const std::vector<SortedRunSummary>& summaries) {
    return std::make_unique<Log>(&policy, segments_.get(), ExtentsOf(summaries));
  }
  // Bytes searched by all lookups together.
  uint64_t ExpectAll(const Log& log) {
    uint64_t searched = 0;
    std::string value;
    const auto ask = [&](std::string_view key, Version version) {
      LookupResult result;
      ExpectOk(log.Lookup(context_, key, kvdyno::Hash64(key), version, &value, &result, &searched));
      ExpectAnswer(all_, key, version, result, value);
    };
    for (const OwnedEntry& entry : all_) {
      ask(entry.key, kNewest);
      ask(entry.key, entry.version);
      ask(entry.key, entry.version - 1);
      ask(entry.key + '\0', kNewest);
      if (HasFatalFailure()) return 0;
    }
    for (const Version version : {kNewest, Version{0}, Version{1}, log.entries() / 2}) {
      ExpectScans(log, version);
    }
    return searched;
  }
  // Whatever a read expects, it sees the same.
  void ExpectScans(const Log& log, Version version) {
    const Entries seen = SeenAt(all_, version);
    const std::string middle = seen.empty() ? "" : seen[seen.size() / 2].key;
    for (const size_t span : {size_t{0}, size_t{1000}, SIZE_MAX}) {
      for (const LogRead& read : {LogRead{version, 0, {}}, LogRead{version, 1, {}},
                                  LogRead{version, 7, {}}, LogRead{version, 7, middle}}) {
        SeenCursor cursor(log.NewCursor(context_, read, span), version);
        ExpectCursor(seen, &cursor);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }

  Entries all_;  // of every run written
};

TEST_F(LogTest, IndexAndBloomPartsGiveTheSameAnswers) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (const size_t count : {0, 1, 2, 40}) {
    all_.clear();
    context_.blocks = count == 2 ? nullptr : &cache_;
    const auto runs = WriteRuns(&random, count);
    for (const LogPolicy* policy : {&index_, &bloom_}) {
      ExpectAll(*Grow(*policy, runs));
      ExpectAll(*Recovered(*policy, runs));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(LogTest, OldLogsStayAsTheyWere) {
  std::mt19937_64 random(2);
  const auto runs = WriteRuns(&random, 10);
  std::vector<std::unique_ptr<Log>> logs;
  logs.push_back(Grow(index_, {}));
  for (const SortedRunSummary& run : runs) logs.push_back(logs.back()->With(run));
  uint64_t entries = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(logs[i]->runs().size(), i);
    EXPECT_EQ(logs[i]->entries(), entries);
    entries += runs[i].extent.entries;
    // Versions above are not there.
    Entries expected = all_;
    std::erase_if(expected, [&](const OwnedEntry& entry) { return entry.version > entries; });
    SeenCursor cursor(logs[i + 1]->NewCursor(context_, {}, 0), kNewest);
    ExpectCursor(SeenAt(expected, kNewest), &cursor);
  }
}

TEST_F(LogTest, GivesSpaceBackWhenAllLogsOfTheRunsAreGone) {
  std::mt19937_64 random(12);
  const auto runs = WriteRuns(&random, 5);
  const uint64_t live = segments_->live_bytes();
  auto older = Grow(index_, {runs.begin(), runs.end() - 1});
  auto newer = older->With(runs.back());
  newer->MarkObsolete();
  newer.reset();
  EXPECT_EQ(segments_->live_bytes(), live) << "a reader still has the older one";
  older.reset();
  EXPECT_EQ(segments_->live_bytes(), 0u);
}

TEST_F(LogTest, RecoveredLogsStayLazyUntilRead) {
  std::mt19937_64 random(3);
  const auto runs = WriteRuns(&random, 6);
  for (const LogPolicy* policy : {&index_, &bloom_}) {
    const uint64_t before = segments_->reads();
    const auto log = Recovered(*policy, {runs.begin(), runs.end() - 1});
    const auto next = log->With(runs.back());
    EXPECT_EQ(segments_->reads(), before);
    EXPECT_EQ(next->memory(), 0u);
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) threads.emplace_back([&] { ExpectAll(*next); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_GT(next->memory(), 0u);
    // Filters need the runs themselves.
    if (policy == &bloom_) {
      EXPECT_GT(next->memory(), runs.size() * kSortedRunBytes);
    }
  }
}

TEST_F(LogTest, IndexSearchesOneBlockBloomWholePieces) {
  std::vector<Entries> entries(40);
  for (uint64_t i = 0; i < 800; ++i) {
    entries[i / 20].push_back(
        {Numbered("k", 1000 + i * 7 % 800), std::string(90, 'v'), i + 1, EntryType::kValue});
  }
  for (Entries& run : entries) Sort(&run);
  const auto runs = Write(entries, 512);
  const auto index = Grow(index_, runs);
  const auto one_piece_policy = LogPolicy{LogLookup::kBloom, 1, 10, 0};
  const auto one_piece = Grow(one_piece_policy, runs);
  const auto pieces_policy = LogPolicy{LogLookup::kBloom, 16, 10, index->bytes() / 16};
  const auto pieces = Grow(pieces_policy, runs);
  const auto searched = [&](const Log& log, const std::string& key) {
    uint64_t bytes = 0;
    std::string value;
    LookupResult result;
    ExpectOk(log.Lookup(context_, key, kvdyno::Hash64(key), kNewest, &value, &result, &bytes));
    return bytes;
  };
  uint64_t by_index = 0, by_one = 0, by_pieces = 0, absent = 0;
  for (uint64_t i = 0; i < 800; ++i) {
    by_index += searched(*index, Numbered("k", 1000 + i));
    by_one += searched(*one_piece, Numbered("k", 1000 + i));
    by_pieces += searched(*pieces, Numbered("k", 1000 + i));
    absent += searched(*index, Numbered("x", i));
  }
  EXPECT_LE(by_index, 800 * 512u);
  EXPECT_EQ(absent, 0u);
  EXPECT_GT(by_one, 5 * by_pieces) << "sixteen pieces must save most of the search";
  EXPECT_GT(by_pieces, 2 * by_index);
}

TEST_F(LogTest, MoreBitsFewerMistakes) {
  std::vector<uint64_t> hashes;
  for (uint64_t i = 0; i < 5000; ++i) hashes.push_back(kvdyno::Hash64(Numbered("k", i)));
  for (const auto& [bits, low, high] :
       {std::tuple{1.0, 0.4, 0.8}, {4.0, 0.1, 0.2}, {10.0, 0.004, 0.02}, {20.0, 0.0, 0.002}}) {
    const BloomFilter filter(hashes, bits);
    EXPECT_NEAR(static_cast<double>(filter.memory() * 8), bits * 5000, 64);
    for (const uint64_t hash : hashes) ASSERT_TRUE(filter.MayContain(hash));
    int mistakes = 0;
    for (uint64_t i = 0; i < 20'000; ++i) {
      mistakes += filter.MayContain(kvdyno::Hash64(Numbered("x", i))) ? 1 : 0;
    }
    EXPECT_GE(mistakes / 20'000.0, low) << bits;
    EXPECT_LE(mistakes / 20'000.0, high) << bits;
  }
}

TEST_F(LogTest, ErrorsAreReportedAndPass) {
  std::mt19937_64 random(4);
  const auto runs = WriteRuns(&random, 5);
  for (const LogPolicy* policy : {&index_, &bloom_}) {
    const auto log = Recovered(*policy, runs);
    std::string value;
    LookupResult result;
    uint64_t searched = 0;
    const std::string& key = all_.back().key;
    files_.SetPlan([](const kvdyno::testing::Call& call) {
      return call.name == "read" ? Status::IoError("read: failed") : Status::Ok();
    });
    const auto failed = log->NewCursor(context_, {}, 0);
    failed->Seek({});
    EXPECT_FALSE(failed->Valid());
    EXPECT_EQ(failed->status().code(), Code::kIoError);
    const auto lookup = [&] {
      return log->Lookup(context_, key, kvdyno::Hash64(key), kNewest, &value, &result, &searched);
    };
    EXPECT_EQ(lookup().code(), Code::kIoError);
    files_.SetPlan(nullptr);
    ExpectOk(lookup());
    files_.SetPlan([](const kvdyno::testing::Call& call) {
      return call.name == "read" ? Status::IoError("read: failed") : Status::Ok();
    });
    EXPECT_EQ(lookup().code(), Code::kIoError) << "the index is there, the block is not";
    files_.SetPlan(nullptr);
    ExpectAll(*log);
  }
}

TEST_F(LogTest, ASavedIndexSparesReadingTheLog) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  context_.blocks = nullptr;
  const auto runs = WriteRuns(&random, 12);
  const std::vector<SortedRunSummary> first(runs.begin(), runs.end() - 3);
  const auto save = [&](const Log& log, uint64_t number) {
    std::unique_ptr<WarmthWriter> writer;
    ChunkWarmth known;
    known.id = 7;
    std::string index;
    ExpectOk(WarmthWriter::Create(&files_, kDirectory, number, &writer));
    ExpectOk(log.Save(&index, &known.runs));
    ExpectOk(writer->Add(known, index));
    ExpectOk(writer->Finish());
    SavedIndex saved;
    ExpectOk(Warmth::Open(&files_, kDirectory + ("/" + WarmthName(number)), &saved.file));
    saved.chunk = saved.file->Find(7);
    return saved;
  };
  const auto recovered = [&](SavedIndex saved) {
    return std::make_unique<Log>(&index_, segments_.get(), ExtentsOf(first), std::move(saved));
  };
  const SavedIndex saved = save(*Grow(index_, first), 1);
  const uint64_t before = segments_->reads();
  std::unique_ptr<Log> log = recovered(saved);
  ExpectOk(log->Warm(context_));
  EXPECT_EQ(segments_->reads(), before);
  // An index that was not loaded is saved again unchanged.
  log = recovered(save(*recovered(saved), 2));
  // The log went on while it was cold: only what came later is read.
  for (size_t i = first.size(); i < runs.size(); ++i) log = log->With(runs[i]);
  EXPECT_FALSE(log->warm());
  EXPECT_EQ(log->memory(), 0u);
  ExpectAll(*log);
  // A damaged index is made from the log.
  ExpectOk(disk_.Flip(kDirectory + ("/" + WarmthName(1)), 100));
  log = recovered(saved);
  for (size_t i = first.size(); i < runs.size(); ++i) log = log->With(runs[i]);
  ExpectAll(*log);
}

// A scan of aged data must not pay for each version, nor wait for one block after the other.
TEST_F(LogTest, AScanReadsOnlyWhatItSeesAndExpects) {
  std::vector<Entries> entries(20);
  for (uint64_t i = 0; i < 400; ++i) {  // each run has a version of twenty keys, one block a key
    entries[i / 20].push_back(
        {Numbered("k", 100 + i % 20), std::string(600, 'v'), i + 1, EntryType::kValue});
  }
  const auto runs = Write(entries, 512);
  const auto log = Grow(index_, runs);
  context_.blocks = nullptr;
  const auto reads_of = [&](const LogRead& read, size_t rows) {
    const uint64_t before = segments_->reads();
    const auto cursor = log->NewCursor(context_, read, 0);
    cursor->Seek("k105");
    for (size_t i = 0; i < rows && cursor->Valid(); ++i) {
      EXPECT_EQ(cursor->entry().version, read.version == kNewest ? 386 + i : 6 + i);
      cursor->Next();
    }
    ExpectOk(cursor->status());
    return segments_->reads() - before;
  };
  EXPECT_EQ(reads_of({kNewest, 10, "k110"}, 5), 5u + 1) << "and the first that is not expected";
  EXPECT_EQ(reads_of({Version{20}, 10, "k110"}, 5), 5u + 1);
  EXPECT_EQ(reads_of({kNewest, 10, {}}, 5), 10u);
  EXPECT_EQ(reads_of({kNewest, 10, {}}, 15), 15u);
  EXPECT_EQ(reads_of({kNewest, 0, {}}, 1), 15u);
}

// The table's first blocks need no wait of their own.
TEST_F(LogTest, AScanReadsTheTableTogetherWithTheLog) {
  Entries rows, newer;
  for (uint64_t i = 0; i < 100; ++i) {
    rows.push_back({Numbered("k", 100 + i), std::string(600, 'v'), i + 1, EntryType::kValue});
    if (i % 10 == 0) newer.push_back({rows.back().key, "new", 200 + i, EntryType::kValue});
  }
  const auto table = Open(Write({rows}).front());
  const auto log = Grow(index_, Write({newer}));
  context_.blocks = nullptr;
  const auto scan = [&](std::string_view from, size_t span) {
    Prefetch prefetch = table->Wanted(context_, from, span);
    context_.prefetch = &prefetch;
    std::vector<std::unique_ptr<EntryCursor>> sources;
    sources.push_back(log->NewCursor(context_, {kNewest, 5, {}}, span));
    sources.push_back(table->NewCursor(context_, span));
    const auto cursor = NewMergingCursor(std::move(sources));
    cursor->Seek(from);
    for (size_t i = 0; i < 5; ++i, cursor->Next()) {
      EXPECT_TRUE(cursor->Valid() && cursor->entry().key.substr(0, 2) == from.substr(0, 2));
    }
    ExpectOk(cursor->status());
    context_.prefetch = nullptr;
    return prefetch;
  };
  EXPECT_GE(scan("k150", 3000).bytes.size(), 3000u);
  EXPECT_EQ(table->Wanted(context_, "k150", 1 << 20).length, 0u) << "long enough to go alone";
  EXPECT_EQ(table->Wanted(context_, "k999", 3000).length, 0u) << "behind the last row";
  // Where only the table's fails, after the log's one block, its cursor reads again.
  files_.FailCall(files_.calls() + 1, Status::IoError("read: failed"));
  EXPECT_EQ(scan("k150", 3000).bytes.size(), 0u);
  files_.SetPlan(nullptr);
  context_.blocks = &cache_;
  context_.fill_cache = true;
  scan("k170", 3000);
  EXPECT_EQ(table->Wanted(context_, "k170", 3000).length, 0u) << "cached now";
}

// Values may be so large that a window of blocks would be more than a store's whole budget.
TEST_F(LogTest, AScanHoldsFewLargeBlocks) {
  Entries entries;
  for (uint64_t i = 0; i < 20; ++i) {
    entries.push_back(
        {Numbered("k", 100 + i), std::string(100 << 10, 'v'), i + 1, EntryType::kValue});
  }
  const auto log = Grow(index_, Write({entries}));
  context_.blocks = nullptr;
  const uint64_t before = segments_->read_bytes();
  const auto cursor = log->NewCursor(context_, {kNewest, 0, {}}, 0);
  cursor->Seek({});
  EXPECT_LT(segments_->read_bytes() - before, 300u << 10);
  ExpectRest(entries, entries.begin(), cursor.get());
}

// The blocks' checksums are right, and no index of the run is looked at.
TEST_F(LogTest, NoticesBlocksThatChangedPlaces) {
  const SortedRunSummary summary = WriteWithTwoBlocksSwapped(EqualEntries());
  const auto log = Grow(index_, {summary});
  const std::string key(summary.index->first_key(1));
  std::string value;
  LookupResult result;
  uint64_t searched = 0;
  EXPECT_EQ(
      log->Lookup(context_, key, kvdyno::Hash64(key), kNewest, &value, &result, &searched).code(),
      Code::kCorruption);
  const auto cursor = log->NewCursor(context_, {}, 0);
  cursor->Seek(key);
  EXPECT_FALSE(cursor->Valid());
  EXPECT_EQ(cursor->status().code(), Code::kCorruption);
}

// A long log's index must not be rewritten by every flush.
TEST_F(LogTest, AddingToALongLogSharesItsIndex) {
  Entries many;
  for (uint64_t i = 0; i < 3000; ++i) {
    many.push_back({Numbered("k", 10'000 + i), "v", 1, EntryType::kValue});
  }
  const Entries few(many.begin(), many.begin() + 16);
  const auto runs = Write({many, few});
  const auto log = Grow(index_, {runs[0]});
  const size_t before = log->memory();
  const auto next = log->With(runs[1]);
  EXPECT_LT(next->memory() - before, 3000u);
}

}  // namespace
}  // namespace chunkstore::testing
