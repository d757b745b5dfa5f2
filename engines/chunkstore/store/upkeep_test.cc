// What the store does with its data on its own, seen through statistics and properties.
#include <fstream>
#include <set>
#include <sstream>

#include "check/check.h"
#include "funk/warmth.h"
#include "kvdyno/base/testing/rng.h"
#include "store/store_fixture.h"

namespace chunkstore {
namespace {

using kvdyno::testing::Rng;

class UpkeepTest : public StoreTest {
 protected:
  void Shuffled(int keys, size_t value_bytes, uint64_t seed) {
    Rng rng(seed);
    for (int i = 0; i < keys; ++i) {
      Put(KeyOf(static_cast<int>(rng.Below(static_cast<uint64_t>(keys)))),
          std::string(value_bytes, static_cast<char>('a' + rng.Below(26))));
    }
  }
  // Backticked words of a cell.
  static std::vector<std::string> Words(const std::string& cell) {
    std::vector<std::string> words;
    for (size_t at = 0; (at = cell.find('`', at)) != std::string::npos; ++at) {
      const size_t end = cell.find('`', at + 1);
      words.push_back(cell.substr(at + 1, end - at - 1));
      at = end;
    }
    return words;
  }
};

TEST_F(UpkeepTest, FlushLeavesNothingInTheRing) {
  Open();
  PutMany(0, 300, 50);
  EXPECT_EQ(Stat("flushes"), 0);
  ASSERT_TRUE(IsOk(store_->Flush()));
  EXPECT_EQ(Stat("flushes"), 1);
  EXPECT_GT(Stat("flush_bytes") + Stat("adoption_bytes"), 300 * 50);
  const double gets = Stat("stage_gets");
  ExpectAll();
  EXPECT_EQ(Stat("stage_gets"), gets);
  ASSERT_TRUE(IsOk(store_->Flush()));
  EXPECT_EQ(Stat("flushes"), 1) << "nothing to flush";
  Die(Loss::kDropAll);
  Open();
  ExpectAll();
}

TEST_F(UpkeepTest, CompactLeavesNoLogsAndNothingSuperseded) {
  Open();
  for (const uint64_t seed : {1, 2, 3}) Shuffled(2000, 80, seed);
  for (int i = 0; i < 2000; i += 4) Delete(KeyOf(i));
  ASSERT_TRUE(IsOk(store_->Compact()));
  EXPECT_EQ(Stat("log_debt"), 0);
  CheckReport report;
  ASSERT_TRUE(IsOk(store_->VerifyChecksums(&report)));
  EXPECT_EQ(report.entries, rows_.size());
  ExpectAll();
  Reopen();
  EXPECT_EQ(Stat("log_debt"), 0);
  ExpectAll();
}

TEST_F(UpkeepTest, ChunksSplitAndStayNearTheirSize) {
  Open();
  Shuffled(3000, 100, 7);
  ASSERT_TRUE(IsOk(store_->Compact()));
  EXPECT_GT(Stat("splits"), 0);
  EXPECT_GT(Stat("chunks"), Stat("live_bytes") / static_cast<double>(options_.chunk_size));
  EXPECT_LT(Stat("chunks"), Stat("live_bytes") / static_cast<double>(options_.chunk_size / 4));
}

TEST_F(UpkeepTest, ASequentialLoadIsWrittenOnce) {
  Open();
  PutMany(0, 5000, 100);
  ASSERT_TRUE(IsOk(store_->Flush()));
  EXPECT_GT(Stat("adoptions"), 0);
  EXPECT_EQ(Stat("rebalance_bytes"), 0);
  EXPECT_EQ(Stat("log_debt"), 0);
  EXPECT_LT(Stat("adoption_bytes"), 1.3 * 5000 * (9 + 105));
  ExpectAll();
}

// Two writers take turns, and one is always a bit ahead: what the other brings is behind what was
// adopted already.
TEST_F(UpkeepTest, ASequentialLoadByTwoWritersIsWrittenOnce) {
  constexpr int kKeys = 5000, kAhead = 30;
  Open();
  for (int i = 0; i < kKeys / 2 + kAhead; ++i) {
    if (i < kKeys / 2) Put(KeyOf(2 * i), std::string(100, 'a'));
    if (i >= kAhead) Put(KeyOf(2 * (i - kAhead) + 1), std::string(100, 'b'));
  }
  ASSERT_TRUE(IsOk(store_->Flush()));
  EXPECT_GT(Stat("adoption_bytes"), 0.8 * kKeys * (9 + 100));
  EXPECT_GT(Stat("flush_bytes"), 0);
  EXPECT_LT(Stat("flush_bytes"), 0.3 * kKeys * (9 + 100));
  ExpectAll();
  Reopen();
  ExpectAll();
  ASSERT_TRUE(IsOk(store_->Compact()));
  ExpectAll();
}

// What is due is chosen before the flush, which may replace the chunk.
TEST_F(UpkeepTest, AFlushReplacesAChunkThatIsDue) {
  options_.log_limit = options_.munk_log_limit = uint64_t{1} << 30;
  options_.log_debt_limit = 20 << 10;
  Open();
  PutMany(0, 50, 100);
  ASSERT_TRUE(IsOk(store_->Flush()));
  const double debt = Stat("log_debt");
  EXPECT_GT(debt, 50 * 100);
  PutMany(50, 250, 100);
  ASSERT_TRUE(IsOk(store_->Flush()));
  EXPECT_EQ(Stat("adoptions"), 1);
  EXPECT_EQ(Stat("rebalances"), 0) << "nothing is due once the new keys are tables";
  EXPECT_EQ(Stat("log_debt"), debt);
  ExpectAll();
  Reopen();
  ExpectAll();
}

// Rows are appended to a chunk that is read: no flush takes it, or them, out of memory.
TEST_F(UpkeepTest, AppendedRowsStayInMemory) {
  Open();
  PutMany(0, 50, 100);
  for (int round = 0; round < 30 && Stat("munks") < Stat("chunks"); ++round) {
    for (const auto& [key, value] : rows_) ASSERT_EQ(Get(key), value);
    ASSERT_TRUE(IsOk(store_->Flush()));
  }
  ASSERT_EQ(Stat("munks"), 1);
  const double loads = Stat("munk_loads");
  PutMany(50, 450, 100);
  ASSERT_TRUE(IsOk(store_->Flush()));
  EXPECT_EQ(Stat("adoptions"), 1);
  EXPECT_GT(Stat("chunks"), 2);
  EXPECT_EQ(Stat("munks"), Stat("chunks"));
  EXPECT_EQ(Stat("munk_loads"), loads);
  const double reads = Stat("read_calls");
  ExpectAll();
  EXPECT_EQ(Stat("read_calls"), reads);
  Reopen();
  ExpectAll();
}

TEST_F(UpkeepTest, DeletesShrinkTheStore) {
  Open();
  Shuffled(4000, 100, 3);
  ASSERT_TRUE(IsOk(store_->Compact()));
  const double chunks = Stat("chunks");
  const double bytes = Stat("live_bytes");
  const double files = Stat("file_bytes");
  EXPECT_GT(chunks, 10);
  for (int i = 0; i < 4000; ++i) {
    if (i % 50 != 0) Delete(KeyOf(i));
  }
  ASSERT_TRUE(IsOk(store_->Compact()));
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(IsOk(store_->Flush()));
  EXPECT_GT(Stat("merges"), 0);
  EXPECT_LT(Stat("chunks"), chunks / 3);
  EXPECT_LT(Stat("live_bytes"), bytes / 20);
  EXPECT_LT(Stat("file_bytes"), files / 3);
  std::string count;
  ASSERT_TRUE(store_->GetProperty("num-chunks", &count));
  EXPECT_EQ(std::stod(count), Stat("chunks"));
  ExpectAll();
  Reopen();
  ExpectAll();
}

TEST_F(UpkeepTest, MunksThatAreWrittenAndNotReadAreGivenUp) {
  ReadOptions not_as_rows;
  not_as_rows.fill_cache = false;
  Open();
  Shuffled(1000, 100, 5);
  ASSERT_TRUE(IsOk(store_->Compact()));
  for (int round = 0; round < 30 && Stat("munks") < Stat("chunks"); ++round) {
    std::string value;
    for (const auto& row : rows_) ASSERT_TRUE(IsOk(store_->Get(not_as_rows, row.first, &value)));
    ASSERT_TRUE(IsOk(store_->Flush()));
  }
  ASSERT_GT(Stat("munks"), 0);
  // Heat halves every eighth round of background work: nothing of it is left, and space is.
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(IsOk(store_->Flush()));
  ASSERT_GT(Stat("munks"), 0) << "a munk that is not written to costs nothing";
  const double rebalances = Stat("munk_rebalances");
  for (const uint64_t seed : {11, 12, 13}) Shuffled(2000, 150, seed);
  EXPECT_EQ(Stat("munk_rebalances"), rebalances);
  EXPECT_GT(Stat("munk_evictions"), 0);
  EXPECT_EQ(Stat("munks"), 0);
  ExpectAll();
  EXPECT_GT(Stat("row_cache_gets"), 100) << "rows of munks stay while there is room";
}

TEST_F(UpkeepTest, WarmChunksBecomeMunks) {
  Open();
  Shuffled(1000, 100, 5);
  ASSERT_TRUE(IsOk(store_->Compact()));
  EXPECT_EQ(Stat("munk_loads"), 0);
  for (int round = 0; round < 30 && Stat("munks") < Stat("chunks"); ++round) {
    for (const auto& [key, value] : rows_) ASSERT_EQ(Get(key), value);
    ASSERT_TRUE(IsOk(store_->Flush()));
  }
  EXPECT_GT(Stat("munk_loads"), 0);
  EXPECT_GT(Stat("munk_bytes"), 0);
  const double gets = Stat("munk_gets"), reads = Stat("read_calls");
  ExpectAll();
  EXPECT_GE(Stat("munk_gets"), gets + static_cast<double>(rows_.size()));
  EXPECT_EQ(Stat("read_calls"), reads) << "nothing comes from disk";
  EXPECT_EQ(Get("absent"), "not found");
  // Writes enter the munks; these are remade, and written out, and split.
  for (const uint64_t seed : {11, 12, 13}) Shuffled(2000, 150, seed);
  EXPECT_GT(Stat("munk_rebalances") + Stat("splits"), 0);
  ExpectAll();
  Die(Loss::kKeepAll);
  Open();
  ExpectAll();
}

// Every chunk's log lies in as many places as there are flushes.
class LongLogsTest : public UpkeepTest {
 protected:
  LongLogsTest() {
    options_.munk_cache_size = options_.row_cache_size = options_.block_cache_size = 0;
    options_.log_limit = 1 << 20;
    options_.log_debt_limit = uint64_t{1} << 30;
  }
  void Build() {
    Open();
    PutMany(0, 2000, 100);
    ASSERT_TRUE(IsOk(store_->Compact()));
    for (int round = 0; round < 20; ++round) {
      for (int i = round % 4; i < 2000; i += 4) Put(KeyOf(i), std::to_string(i + round));
      ASSERT_TRUE(IsOk(store_->Flush()));
    }
    ASSERT_GT(Stat("chunks"), 8);
  }
  // Calls of the file system for 40 gets all over the store.
  double ReadsOfSomeGets() {
    const double reads = Stat("read_calls");
    for (int i = 0; i < 2000; i += 50) EXPECT_EQ(Get(KeyOf(i)), rows_[KeyOf(i)]);
    return Stat("read_calls") - reads;
  }
};

TEST_F(LongLogsTest, AStoreThatWasClosedKnowsItsLogs) {
  Build();
  Reopen();
  EXPECT_EQ(ReadsOfSomeGets(), 40) << "one block a get";
  // Only some indexes were loaded; the close saved the others as well.
  Reopen();
  EXPECT_EQ(ReadsOfSomeGets(), 40);
  Reopen();
  for (int i = 0; i < 2000; i += 2) Put(KeyOf(i), "new");
  ASSERT_TRUE(IsOk(store_->Flush()));
  Reopen();
  ExpectAll();
  Die(Loss::kKeepAll);
  Open();
  EXPECT_GT(ReadsOfSomeGets(), 100) << "only a closed store was saved";
  ExpectAll();
}

TEST_F(LongLogsTest, ADamagedFileOfIndexesIsReportedAndDoneWithout) {
  Build();
  ASSERT_TRUE(IsOk(store_->Close()));
  store_.reset();
  const auto problems = [&] {
    CheckReport report;
    EXPECT_TRUE(IsOk(CheckStore(&files_, kDirectory, &report)));
    CheckWarmth(&files_, kDirectory, &report);
    return report.problems;
  };
  const std::string path = kDirectory + ("/" + WarmthName(1));
  EXPECT_TRUE(problems().empty());
  ASSERT_TRUE(IsOk(files_.Flip(path, 8 * 50)));
  ASSERT_EQ(problems().size(), 1u);
  EXPECT_NE(problems()[0].find(WarmthName(1)), std::string::npos) << problems()[0];
  CheckReport report;
  ASSERT_TRUE(IsOk(Store::Repair(options_, kDirectory, &report)));
  EXPECT_TRUE(report.problems.empty()) << "no data are damaged";
  Open();
  ExpectAll();
  Reopen();
  ASSERT_TRUE(IsOk(store_->Close()));
  store_.reset();
  EXPECT_TRUE(problems().empty()) << "the next close writes a new one";
}

TEST_F(LongLogsTest, ReadsIndexesOfLogsThatWereNotSaved) {
  Build();
  Die(Loss::kKeepAll);
  options_.background_threads = 1;
  Open();
  EXPECT_EQ(Stat("logs_warmed"), 0) << "there was no read";
  // The first get makes its own chunk's index; one of each other chunk has only to be noticed.
  for (const auto& [key, value] : rows_) {
    ASSERT_EQ(Get(key), value);
    if (Stat("logs_warmed") > 0) break;
  }
  ScanAll();
  ASSERT_TRUE(IsOk(store_->Flush())) << "until nothing is left to do";
  EXPECT_LE(ReadsOfSomeGets(), 40) << "one block a get";
}

// What a munk will take is estimated, and logs of new rows make it too little.
TEST_F(UpkeepTest, MunksDoNotDriveEachOtherOut) {
  options_.row_cache_size = options_.block_cache_size = 0;
  options_.log_limit = 1 << 20;
  options_.log_debt_limit = uint64_t{1} << 30;
  for (uint64_t kib = 300; kib < 360; kib += 5) {
    options_.munk_cache_size = kib << 10;
    Open();
    for (int i = 0; i < 4000; i += 2) Put(KeyOf(i), std::string(150, 'a'));
    ASSERT_TRUE(IsOk(store_->Compact()));
    for (int i = 1; i < 4000; i += 2) Put(KeyOf(i), std::string(150, 'b'));
    double loads = 0;
    for (int round = 0; round < 15; ++round) {
      for (const auto& [key, value] : rows_) ASSERT_EQ(Get(key), value);
      ASSERT_TRUE(IsOk(store_->Flush()));
      if (round == 5) loads = Stat("munk_loads");
    }
    EXPECT_GT(Stat("munks"), 3);
    EXPECT_LT(Stat("munks"), Stat("chunks"));
    EXPECT_EQ(Stat("munk_loads"), loads) << "with " << kib << " KiB";
    store_.reset();
    ASSERT_TRUE(IsOk(Store::Destroy(options_, kDirectory)));
    rows_.clear();
  }
}

// Half as much room again is not there, but munks may grow less.
TEST_F(UpkeepTest, DataThatJustFitStayInMemoryWhileTheyAreWritten) {
  options_.row_cache_size = options_.block_cache_size = 0;
  options_.chunk_size = 256 << 10;
  options_.log_limit = options_.munk_log_limit = 4 << 20;  // a reorganisation makes new munks
  options_.log_debt_limit = uint64_t{1} << 30;
  const auto read_all = [this] {
    for (const auto& [key, value] : rows_) ASSERT_EQ(Get(key), value);
    ASSERT_TRUE(IsOk(store_->Flush()));
  };
  const auto warm = [&] {
    for (int round = 0; round < 30 && Stat("munks") < Stat("chunks"); ++round) read_all();
    ASSERT_EQ(Stat("munks"), Stat("chunks"));
  };
  options_.munk_cache_size = uint64_t{8} << 20;
  Open();
  PutMany(0, 5000, 400);
  ASSERT_TRUE(IsOk(store_->Compact()));
  warm();
  options_.munk_cache_size = static_cast<uint64_t>(Stat("munk_bytes") * 1.2);
  Reopen();
  warm();
  const double rebalances = Stat("munk_rebalances");
  for (int round = 0; round < 20; ++round) {
    for (int i = round; i < 5000; i += 20) Put(KeyOf(i), std::string(400, 'x'));
    read_all();
  }
  EXPECT_GT(Stat("munk_rebalances"), rebalances);
  EXPECT_EQ(Stat("munk_evictions"), 0);
  EXPECT_EQ(Stat("munks"), Stat("chunks"));
  EXPECT_LE(Stat("munk_bytes"), static_cast<double>(options_.munk_cache_size));
}

TEST_F(UpkeepTest, AStoreThatWasClosedKnowsWhatItHeldInMemory) {
  Open();
  PutMany(0, 1000, 100);
  ASSERT_TRUE(IsOk(store_->Compact()));
  ExpectAll();
  ASSERT_TRUE(IsOk(store_->Flush()));
  const double munks = Stat("munks");
  ASSERT_GT(munks, 0);
  Reopen();
  EXPECT_EQ(Stat("munks"), 0);
  ASSERT_TRUE(IsOk(store_->Flush()));
  EXPECT_EQ(Stat("munks"), munks) << "before anything was read";
}

TEST_F(UpkeepTest, BothLogLookupsGiveTheSameAnswers) {
  std::map<LogLookup, std::vector<std::string>> answers;
  std::map<LogLookup, double> searched;
  for (const LogLookup lookup : {LogLookup::kIndex, LogLookup::kBloom}) {
    options_.log_lookup = lookup;
    options_.log_limit = 32 << 10;
    options_.bloom_split = 4;
    options_.munk_cache_size = 0;
    options_.row_cache_size = 0;
    Open();
    Shuffled(1500, 60, 9);
    ASSERT_TRUE(IsOk(store_->Flush()));
    for (int i = 0; i < 1500; i += 7) Delete(KeyOf(i));
    ASSERT_TRUE(IsOk(store_->Flush()));
    ASSERT_GT(Stat("log_debt"), 0);
    for (const bool reopened : {false, true}) {
      if (reopened) Reopen();
      const double before = Stat("log_searched_bytes");
      for (int i = 0; i < 1600; ++i) answers[lookup].push_back(Get(KeyOf(i)));
      EXPECT_GT(Stat("log_gets"), 0);
      EXPECT_GT(Stat("log_searched_bytes"), before);
      searched[lookup] = Stat("log_searched_bytes");
    }
    ExpectAll();
    store_.reset();
    ASSERT_TRUE(IsOk(Store::Destroy(options_, kDirectory)));
    rows_.clear();
  }
  EXPECT_TRUE(answers[LogLookup::kIndex] == answers[LogLookup::kBloom]);
  EXPECT_GT(searched[LogLookup::kBloom], searched[LogLookup::kIndex]);
}

TEST_F(UpkeepTest, ScansHaveTheLogsMergedThatTheyReadAgainAndAgain) {
  options_.munk_cache_size = options_.row_cache_size = options_.block_cache_size = 0;
  options_.log_limit = 32 << 10;
  Open();
  Shuffled(1500, 60, 9);
  ASSERT_TRUE(IsOk(store_->Compact()));
  for (int i = 0; i < 1500; i += 7) Put(KeyOf(i), "new");
  ASSERT_TRUE(IsOk(store_->Flush()));
  options_.background_threads = 1;
  Reopen();
  const double debt = Stat("log_debt");
  ASSERT_GT(debt, 0);
  for (int i = 0; i < 1500; i += 7) ASSERT_EQ(Get(KeyOf(i)), "new");
  EXPECT_EQ(Stat("log_debt"), debt) << "gets read one block either way";
  while (Stat("log_debt") > 0) ExpectAll();
}

TEST_F(UpkeepTest, AFlushMergesNothingForScansNorReportsTheirDamage) {
  options_.munk_cache_size = options_.row_cache_size = options_.block_cache_size = 0;
  options_.log_limit = 1 << 20;
  Open();
  Shuffled(200, 50, 9);
  ASSERT_TRUE(IsOk(store_->Flush()));
  options_.background_threads = 1;
  Reopen();
  ASSERT_EQ(Stat("segments"), 1);
  ASSERT_TRUE(IsOk(files_.Flip("/store/segment-000001.seg", 5000 * 8)));
  for (int i = 0; i < 20; ++i) {
    const auto rows = store_->NewIterator({});
    for (rows->SeekToFirst(); rows->Valid();) rows->Next();
    ASSERT_EQ(rows->status().code(), Code::kCorruption);
    ASSERT_TRUE(IsOk(store_->Flush()));
  }
}

TEST_F(UpkeepTest, WorksWithoutCaches) {
  options_.munk_cache_size = options_.row_cache_size = options_.block_cache_size = 0;
  Open();
  Shuffled(2000, 80, 4);
  for (int round = 0; round < 3; ++round) {
    ExpectAll();
    ASSERT_TRUE(IsOk(store_->Flush()));
  }
  for (const char* name : {"munks", "munk_bytes", "munk_loads", "row_cache_bytes", "row_cache_hits",
                           "row_cache_gets", "block_cache_bytes", "block_cache_hits"}) {
    EXPECT_EQ(Stat(name), 0) << name;
  }
}

// Data of more than all caches: a part of the chunks as munks, or the rows that are read most.
TEST_F(UpkeepTest, GetsThatAreSpreadGetRowsAndOthersMunks) {
  constexpr int kRows = 16'000;
  for (const bool spread : {true, false}) {
    Open();
    PutMany(0, kRows, 1000);
    ASSERT_TRUE(IsOk(store_->Compact()));
    for (int round = 0; round < 40; ++round) {
      // All alike, or nearly all in a sixteenth of the chunks.
      for (int i = 0; i < kRows; ++i) {
        const int key = spread || i % 32 == 0 ? i : i % (kRows / 16);
        ASSERT_EQ(Get(KeyOf(key)), rows_[KeyOf(key)]);
      }
      ASSERT_TRUE(IsOk(store_->Flush()));
    }
    ASSERT_GT(Stat("munk_loads"), 0);
    if (spread) {
      EXPECT_GT(Stat("row_cache_bytes"), 4 * Stat("munk_bytes"));
      EXPECT_GT(Stat("munk_evictions"), 0);
    } else {
      EXPECT_GT(Stat("munk_bytes"), Stat("row_cache_bytes"));
    }
    store_.reset();
    ASSERT_TRUE(IsOk(Store::Destroy(options_, kDirectory)));
    rows_.clear();
  }
}

TEST_F(UpkeepTest, CachesServeWhatWasRead) {
  options_.munk_cache_size = 0;
  Open();
  PutMany(0, 500, 80);
  ASSERT_TRUE(IsOk(store_->Compact()));
  for (const bool fill : {false, true, true}) {
    ReadOptions read;
    read.fill_cache = fill;
    const double before = Stat("row_cache_bytes");
    std::string value;
    for (const auto& [key, expected] : rows_) {
      ASSERT_TRUE(IsOk(store_->Get(read, key, &value)));
      ASSERT_EQ(value, expected);
    }
    if (!fill) {
      EXPECT_EQ(Stat("row_cache_bytes"), before) << "kept out";
    }
  }
  EXPECT_GE(Stat("row_cache_gets"), 400);
  // A flush brings cached rows up to date.
  PutMany(100, 200, 30, 'n');
  Delete(KeyOf(7));
  ASSERT_TRUE(IsOk(store_->Flush()));
  ExpectAll();
  EXPECT_EQ(Get(KeyOf(7)), "not found");
}

// More keys than are looked up at once, in logs and tables. Blocks are brought together first:
// each key then finds its own in the cache.
TEST_F(UpkeepTest, MultiGetReadsBlocksTogether) {
  options_.munk_cache_size = options_.row_cache_size = 0;
  Open();
  PutMany(0, 600, 300);
  ASSERT_TRUE(IsOk(store_->Compact()));
  PutMany(200, 300, 200, 'n');
  ASSERT_TRUE(IsOk(store_->Flush()));
  std::vector<std::string> names;
  for (int i = 0; i < 650; i += 5) names.push_back(KeyOf(i));
  const std::vector<std::string_view> keys(names.begin(), names.end());
  std::vector<std::string> values;
  std::vector<Status> statuses;
  for (const bool fill : {false, true}) {
    ReadOptions options;
    options.fill_cache = fill;
    store_->MultiGet(options, keys, &values, &statuses);
    EXPECT_EQ(Stat("block_cache_hits") >= 100, fill);
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto row = rows_.find(names[i]);
      EXPECT_EQ(statuses[i].ok(), row != rows_.end()) << keys[i];
      EXPECT_TRUE(!statuses[i].ok() || values[i] == row->second) << keys[i];
    }
  }
}

TEST_F(UpkeepTest, DirectAndBufferedReadTheSame) {
  for (const bool direct : {true, false}) {
    options_.direct_io = direct;
    Open();
    EXPECT_EQ(Stat("direct_io"), direct ? 1 : 0);
    PutMany(0, 1000, 90, direct ? 'd' : 'b');
    ASSERT_TRUE(IsOk(store_->Compact()));
    ExpectAll();
    Reopen();
    ExpectAll();
  }
}

TEST_F(UpkeepTest, KeepsFewFilesOpen) {
  options_.max_open_files = 16;
  options_.munk_cache_size = options_.row_cache_size = options_.block_cache_size = 0;
  options_.log_limit = 1 << 20;
  options_.log_debt_limit = 64 << 20;
  options_.chunk_size = 1 << 20;
  Open();
  for (int round = 0; round < 40; ++round) {
    Put(KeyOf(round), std::string(5000, 'v'));
    ASSERT_TRUE(IsOk(store_->Flush()));
  }
  ASSERT_GT(Stat("segments"), 16);
  ExpectAll();
  EXPECT_GT(Stat("open_files"), 0);
  EXPECT_LE(Stat("open_files"), 16);
}

TEST_F(UpkeepTest, VerifyChecksumsReadsEveryBlockAndReportsDamage) {
  options_.munk_cache_size = options_.row_cache_size = options_.block_cache_size = 0;
  Open();
  Shuffled(1000, 100, 6);
  ASSERT_TRUE(IsOk(store_->Flush()));
  CheckReport report;
  ASSERT_TRUE(IsOk(store_->VerifyChecksums(&report)));
  EXPECT_EQ(report.files, static_cast<uint64_t>(Stat("segments")));
  EXPECT_GE(report.entries, rows_.size());
  EXPECT_GT(report.blocks, report.entries * 100 / (2 * options_.block_size));
  EXPECT_TRUE(report.problems.empty());

  std::vector<std::string> names;
  ASSERT_TRUE(IsOk(files_.List(kDirectory, &names)));
  for (const std::string& name : names) {
    if (!name.starts_with("segment-")) continue;
    uint64_t size = 0;
    ASSERT_TRUE(IsOk(files_.Size(std::string("/store/").append(name), &size)));
    for (uint64_t at = 100; at < size; at += 5000) {
      ASSERT_TRUE(IsOk(files_.Flip(std::string("/store/").append(name), at * 8)));
    }
  }
  CheckReport damaged;
  ASSERT_TRUE(IsOk(store_->VerifyChecksums(&damaged))) << "the report has it";
  ASSERT_FALSE(damaged.problems.empty());
  EXPECT_NE(damaged.problems.front().find("/store/segment-"), std::string::npos)
      << damaged.problems.front();
  int corrupt = 0;
  for (const auto& [key, value] : rows_) {
    std::string found;
    const Status status = store_->Get(key, &found);
    if (status.ok()) {
      EXPECT_EQ(found, value);
    } else {
      EXPECT_EQ(status.code(), Code::kCorruption) << status.ToString();
      ++corrupt;
    }
  }
  EXPECT_GT(corrupt, 0);
}

TEST_F(UpkeepTest, Properties) {
  Open();
  Shuffled(1000, 100, 8);
  Put(std::string("\0\xff\\", 3), "unprintable");
  ASSERT_TRUE(IsOk(store_->Compact()));
  std::string text;
  ASSERT_TRUE(store_->GetProperty("num-chunks", &text));
  EXPECT_EQ(std::stod(text), Stat("chunks"));
  ASSERT_TRUE(store_->GetProperty("chunks", &text));
  EXPECT_EQ(static_cast<double>(std::count(text.begin(), text.end(), '\n')), Stat("chunks"));
  ASSERT_TRUE(store_->GetProperty("stats", &text));
  EXPECT_EQ(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')),
            store_->GetStatistics().size());
  ASSERT_TRUE(store_->GetProperty("recovery", &text));
  EXPECT_TRUE(text.starts_with("closed properly")) << text;
  text = "untouched";
  for (const char* name : {"", "Stats", "options", "nothing"}) {
    EXPECT_FALSE(store_->GetProperty(name, &text)) << name;
  }
  EXPECT_EQ(text, "untouched");
}

// docs/chunkstore.md lists every statistic with unit and kind, and no other.
TEST_F(UpkeepTest, StatisticsAreTheDocumentedOnes) {
  std::ifstream file(CHUNKSTORE_DOCUMENT);
  ASSERT_TRUE(file.is_open()) << CHUNKSTORE_DOCUMENT;
  struct Documented {
    std::string unit;
    bool cumulative;
  };
  std::map<std::string, Documented> documented;
  for (const char* component :
       {"munk", "stage", "row_cache", "log", "table", "absent", "block_cache"}) {
    const std::string prefix(component);
    documented[prefix + "_gets"] = {"op", true};
    documented[prefix + "_get_bytes"] = {"byte", true};
    documented[prefix + "_get_p50_us"] = documented[prefix + "_get_p99_us"] = {"us", false};
  }
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) inside = line == "## Statistics";
    if (!inside || !line.starts_with("| `")) continue;
    const size_t end = line.find('|', 1);
    std::string cell = line.substr(end + 1, line.find('|', end + 1) - end - 1);
    std::erase(cell, ' ');
    std::vector<std::string> units;
    std::istringstream split(cell);
    for (std::string unit; std::getline(split, unit, ',');) units.push_back(unit);
    const bool level = units.back() == "L";
    if (level) units.pop_back();
    const std::vector<std::string> names = Words(line.substr(0, end));
    for (size_t i = 0; i < names.size(); ++i) {
      documented[names[i]] = {units[std::min(i, units.size() - 1)], !level};
    }
  }
  ASSERT_GT(documented.size(), 40U);

  Open();
  std::set<std::string> found;
  for (const Statistic& statistic : store_->GetStatistics()) {
    EXPECT_TRUE(found.insert(statistic.name).second) << statistic.name << " twice";
    const auto at = documented.find(statistic.name);
    if (at == documented.end()) {
      ADD_FAILURE() << statistic.name << " is not documented";
      continue;
    }
    EXPECT_EQ(statistic.unit, at->second.unit) << statistic.name;
    EXPECT_EQ(statistic.cumulative, at->second.cumulative) << statistic.name;
  }
  for (const auto& [name, unused] : documented) {
    EXPECT_TRUE(found.contains(name)) << name << " is documented only";
  }
}

TEST_F(UpkeepTest, CountsWhatTheApplicationDid) {
  Open();
  PutMany(0, 10, 20);
  Delete(KeyOf(0));
  WriteBatch batch;
  batch.Put("a", "1");
  batch.Delete("b");
  ASSERT_TRUE(IsOk(store_->Write(batch)));
  EXPECT_EQ(Stat("puts"), 13) << "operations, deletions and batches included";
  Get(KeyOf(1));
  Get("absent");
  EXPECT_EQ(Stat("stage_gets"), 1);
  EXPECT_EQ(Stat("stage_get_bytes"), 21);
  EXPECT_EQ(Stat("absent_gets"), 1);
  ScanAll();
  ScanAll(nullptr, true);
  EXPECT_EQ(Stat("scans"), 2);
  EXPECT_EQ(Stat("scan_rows"), 20);
}

TEST_F(UpkeepTest, MemoryIsTheSumOfItsParts) {
  Open();
  Shuffled(2000, 100, 2);
  ExpectAll();
  ASSERT_TRUE(IsOk(store_->Flush()));
  double sum = 0;
  for (const char* name :
       {"munk_bytes", "row_cache_bytes", "block_cache_bytes", "stage_bytes", "index_bytes"}) {
    sum += Stat(name);
  }
  EXPECT_EQ(Stat("memory_bytes"), sum);
  EXPECT_LE(Stat("memory_bytes"), Stat("memory_budget"));
  EXPECT_EQ(Stat("memory_budget"), Options::kLeastBudget);
}

}  // namespace
}  // namespace chunkstore
