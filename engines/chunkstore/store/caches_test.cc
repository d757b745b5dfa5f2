// What the store keeps in memory: chunks as munks, rows, blocks.
#include "store/store_fixture.h"

namespace chunkstore {
namespace {

class CachesTest : public StoreTest {};

// Rows are appended to a chunk that is read: no flush takes it, or them, out of memory.
TEST_F(CachesTest, AppendedRowsStayInMemory) {
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

TEST_F(CachesTest, MunksThatAreWrittenAndNotReadAreGivenUp) {
  ReadOptions not_as_rows;
  not_as_rows.fill_cache = false;
  Open();
  PutShuffled(1000, 100, 5);
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
  for (const uint64_t seed : {11, 12, 13}) PutShuffled(2000, 150, seed);
  EXPECT_EQ(Stat("munk_rebalances"), rebalances);
  EXPECT_GT(Stat("munk_evictions"), 0);
  EXPECT_EQ(Stat("munks"), 0);
  ExpectAll();
  EXPECT_GT(Stat("row_cache_gets"), 100) << "rows of munks stay while there is room";
}

TEST_F(CachesTest, WarmChunksBecomeMunks) {
  Open();
  PutShuffled(1000, 100, 5);
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
  for (const uint64_t seed : {11, 12, 13}) PutShuffled(2000, 150, seed);
  EXPECT_GT(Stat("munk_rebalances") + Stat("splits"), 0);
  ExpectAll();
  Die(Loss::kKeepAll);
  Open();
  ExpectAll();
}

// What a munk will take is estimated, and logs of new rows make it too little.
TEST_F(CachesTest, MunksDoNotDriveEachOtherOut) {
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
TEST_F(CachesTest, DataThatJustFitStayInMemoryWhileTheyAreWritten) {
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

TEST_F(CachesTest, AStoreThatWasClosedKnowsWhatItHeldInMemory) {
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

// Data of more than all caches: a part of the chunks as munks, or the rows that are read most.
TEST_F(CachesTest, GetsThatAreSpreadGetRowsAndOthersMunks) {
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

TEST_F(CachesTest, CachesServeWhatWasRead) {
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
TEST_F(CachesTest, MultiGetReadsBlocksTogether) {
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

TEST_F(CachesTest, WorksWithoutCaches) {
  options_.munk_cache_size = options_.row_cache_size = options_.block_cache_size = 0;
  Open();
  PutShuffled(2000, 80, 4);
  for (int round = 0; round < 3; ++round) {
    ExpectAll();
    ASSERT_TRUE(IsOk(store_->Flush()));
  }
  for (const char* name : {"munks", "munk_bytes", "munk_loads", "row_cache_bytes", "row_cache_hits",
                           "row_cache_gets", "block_cache_bytes", "block_cache_hits"}) {
    EXPECT_EQ(Stat(name), 0) << name;
  }
}

TEST_F(CachesTest, DirectAndBufferedReadTheSame) {
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

}  // namespace
}  // namespace chunkstore
