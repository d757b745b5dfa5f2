// Log debt: that it is known, and that it can be paid down to a bound at any time.
#include <atomic>
#include <thread>

#include "kvdyno/base/testing/rng.h"
#include "store/store_fixture.h"

namespace chunkstore {
namespace {

using kvdyno::testing::Rng;

class DebtTest : public StoreTest {
 protected:
  DebtTest() {
    // Nothing is due of itself: logs grow until a caller asks.
    options_.log_limit = options_.munk_log_limit = uint64_t{1} << 30;
    options_.log_debt_limit = uint64_t{1} << 30;
  }

  void Scatter(int puts, uint64_t seed) {
    Rng rng(seed);
    for (int i = 0; i < puts; ++i) {
      Put(KeyOf(static_cast<int>(rng.Below(2000))), std::string(100 + rng.Below(50), 'x'));
    }
  }
  // A loaded store, overwritten more than once, with everything in its logs.
  double Indebted() {
    PutMany(0, 2000, 100);
    EXPECT_TRUE(IsOk(store_->Flush()));
    Scatter(4000, 1);
    EXPECT_TRUE(IsOk(store_->Flush()));
    return Stat("log_debt");
  }
};

TEST_F(DebtTest, FallsToTheBoundAndNotFarBelow) {
  Open();
  const double debt = Indebted();
  ASSERT_GT(debt, 300'000);
  for (const double share : {0.75, 0.3, 0.0}) {
    const auto bound = static_cast<uint64_t>(share * debt);
    ASSERT_TRUE(IsOk(store_->PayDebt(bound)));
    EXPECT_LE(Stat("log_debt"), bound);
    // A job is a chunk with its neighbours: 16 KiB chunks, groups of at most 64 KiB of logs.
    EXPECT_GE(Stat("log_debt"), static_cast<double>(bound) - 2 * 64 * 1024);
    ExpectAll();
  }
  Reopen();
  ExpectAll();
}

TEST_F(DebtTest, CountsWhatTheRingHolds) {
  Open();
  EXPECT_EQ(Stat("unflushed_bytes"), 0);
  Put("key", std::string(1000, 'v'));
  EXPECT_GT(Stat("unflushed_bytes"), 1000);
  EXPECT_LT(Stat("unflushed_bytes"), 1100);
  ASSERT_TRUE(IsOk(store_->PayDebt(uint64_t{1} << 40))) << "flushes, and has nothing to pay";
  EXPECT_EQ(Stat("unflushed_bytes"), 0);
}

TEST_F(DebtTest, IsKnownAsSoonAsTheStoreIsOpen) {
  Open();
  const double debt = Indebted();
  Reopen();
  EXPECT_EQ(Stat("log_debt"), debt);
  options_.read_only = true;
  Reopen();
  EXPECT_EQ(Stat("log_debt"), debt);
  EXPECT_EQ(store_->PayDebt(0).code(), Code::kReadOnly);
}

TEST_F(DebtTest, BlocksThatWereCachedAreCachedWhenTheyAreRewritten) {
  options_.munk_cache_size = options_.row_cache_size = 0;
  options_.block_cache_size = 4 << 20;
  Open();
  PutMany(0, 2000, 100);
  ASSERT_TRUE(IsOk(store_->Compact()));
  Scatter(100, 1);
  ASSERT_TRUE(IsOk(store_->Flush()));
  ExpectAll();
  ASSERT_TRUE(IsOk(store_->PayDebt(0)));
  ASSERT_GT(Stat("rebalances"), 0);
  const double missed = Stat("block_cache_misses");
  ExpectAll();
  EXPECT_EQ(Stat("block_cache_misses"), missed);

  // What was not read does not push out what is.
  Reopen();
  Scatter(100, 2);
  ASSERT_TRUE(IsOk(store_->Flush()));
  ASSERT_TRUE(IsOk(store_->PayDebt(0)));
  EXPECT_LT(Stat("block_cache_bytes"), 200'000);
  ExpectAll();
}

// The part of a chunk that was read stays in memory, and no more.
TEST_F(DebtTest, OnlyBlocksThatWereCachedAreCachedWhenTheyAreRewritten) {
  options_.munk_cache_size = options_.row_cache_size = 0;
  options_.block_cache_size = 16 << 20;
  Open();
  PutMany(0, 20'000, 100);
  ASSERT_TRUE(IsOk(store_->Compact()));
  Reopen();
  const auto read_part = [this] {
    for (int i = 0; i < 20'000; ++i) {
      std::string value;
      if (i / 1000 % 3 == 0) {
        EXPECT_TRUE(IsOk(store_->Get(KeyOf(i), &value)));
      }
    }
  };
  read_part();
  for (int i = 0; i < 20'000; i += 250) Put(KeyOf(i), std::string(100, 'x'));
  ASSERT_TRUE(IsOk(store_->Flush()));
  read_part();  // of the logs too
  const double held = Stat("block_cache_bytes");
  const double missed = Stat("block_cache_misses");
  ASSERT_TRUE(IsOk(store_->PayDebt(0)));
  ASSERT_GT(Stat("rebalances"), 0);
  EXPECT_LT(Stat("block_cache_bytes"), 1.1 * held);
  read_part();
  // Where a part that was read ends, a block may have rows of both.
  EXPECT_LE(Stat("block_cache_misses") - missed, 10);
  ExpectAll();
}

TEST_F(DebtTest, WithinTheBoundNothingIsRewritten) {
  Open();
  const double debt = Indebted();
  const double rewritten = Stat("rebalance_bytes");
  ASSERT_TRUE(IsOk(store_->PayDebt(static_cast<uint64_t>(debt))));
  EXPECT_EQ(Stat("rebalance_bytes"), rewritten);
  EXPECT_EQ(Stat("log_debt"), debt);
}

TEST_F(DebtTest, SnapshotsSeeWhatTheySaw) {
  Open();
  Indebted();
  const Rows then = rows_;
  const std::unique_ptr<Snapshot> snapshot = store_->GetSnapshot();
  Scatter(1000, 2);
  ASSERT_TRUE(IsOk(store_->PayDebt(0)));
  EXPECT_EQ(Stat("log_debt"), 0);
  ExpectRows(then, snapshot.get());
  ExpectAll();
}

TEST_F(DebtTest, SurvivesAPowerLossAfterwards) {
  Open();
  Indebted();
  ASSERT_TRUE(IsOk(store_->PayDebt(0)));
  Die(Loss::kDropAll);
  Open();
  EXPECT_EQ(Stat("log_debt"), 0);
  ExpectAll();
}

TEST_F(DebtTest, AFullDiskIsAnErrorAndLosesNothing) {
  Open();
  Indebted();
  files_.SetCapacity(0);
  EXPECT_EQ(store_->PayDebt(0).code(), Code::kNoSpace);
  files_.SetCapacity(UINT64_MAX);
  ExpectAll();
  ASSERT_TRUE(IsOk(store_->PayDebt(0)));
  EXPECT_EQ(Stat("log_debt"), 0);
  ExpectAll();
}

TEST_F(DebtTest, EndsUnderSteadyWrites) {
  options_.background_threads = 1;
  Open();
  Indebted();
  std::atomic<bool> stop = false;
  std::atomic<int> written = 0;
  std::thread writer([&] {
    for (int i = 0; !stop; ++i) {
      ASSERT_TRUE(IsOk(store_->Put(KeyOf(10'000 + i % 500), std::to_string(i))));
      written = i;
    }
  });
  while (written < 100) std::this_thread::yield();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(IsOk(store_->PayDebt(0)));
  stop = true;
  writer.join();
  for (const auto& [key, value] : rows_) ASSERT_EQ(Get(key), value) << key;
  EXPECT_EQ(Get(KeyOf(10'000 + written % 500)), std::to_string(written));
  ASSERT_TRUE(IsOk(store_->PayDebt(0)));
  EXPECT_EQ(Stat("log_debt"), 0);
}

TEST_F(DebtTest, ACloseEndsIt) {
  options_.background_threads = 1;
  for (int round = 0; round < 5; ++round) {
    Open();
    Indebted();
    std::atomic<bool> begun = false;
    Status paid;
    std::thread payer([&] {
      begun = true;
      paid = store_->PayDebt(0);
    });
    while (!begun) std::this_thread::yield();
    ASSERT_TRUE(IsOk(store_->Close()));
    payer.join();
    EXPECT_TRUE(paid.ok() || paid.code() == Code::kInvalidArgument) << paid.ToString();
    EXPECT_EQ(store_->PayDebt(0).code(), Code::kInvalidArgument);
    Open();
    ExpectAll();
    ASSERT_TRUE(IsOk(store_->Close()));
  }
}

}  // namespace
}  // namespace chunkstore
