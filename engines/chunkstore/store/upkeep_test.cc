// What the store does with its files on its own, seen through statistics.
#include "check/check.h"
#include "store/store_fixture.h"

namespace chunkstore {
namespace {

class UpkeepTest : public StoreTest {};

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
  for (const uint64_t seed : {1, 2, 3}) PutShuffled(2000, 80, seed);
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
  PutShuffled(3000, 100, 7);
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

TEST_F(UpkeepTest, DeletesShrinkTheStore) {
  Open();
  PutShuffled(4000, 100, 3);
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

TEST_F(UpkeepTest, ScansHaveTheLogsMergedThatTheyReadAgainAndAgain) {
  options_.munk_cache_size = options_.row_cache_size = options_.block_cache_size = 0;
  options_.log_limit = 32 << 10;
  Open();
  PutShuffled(1500, 60, 9);
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
  PutShuffled(200, 50, 9);
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

}  // namespace
}  // namespace chunkstore
