// SILK's share and pacing against hand-made traces.
#include "kvdyno/tuners/silk.h"

#include <gtest/gtest.h>

#include <vector>

namespace kvdyno::tuners {

namespace {

constexpr double kTick = 0.01;

// What clients do in a tick at a load of so many bytes per second.
double Load(double bytes_per_s) { return bytes_per_s * kTick; }

TEST(SilkShare, IdleClientsLeaveAll) {
  SilkShare share{{}};
  EXPECT_FALSE(share.Observe(0, kTick));
  EXPECT_DOUBLE_EQ(share.rate_bytes_per_s(), 200e6);
  EXPECT_FALSE(share.peak());
}

TEST(SilkShare, FollowsTheLoadAndKeepsTheFloor) {
  SilkShare share{{}};
  std::vector<double> rates;
  for (const double load : {50e6, 120e6, 185e6, 195e6, 400e6, 0.0}) {
    EXPECT_TRUE(share.Observe(Load(load), kTick) || load > 190e6) << load;
    rates.push_back(share.rate_bytes_per_s() / 1e6);
  }
  EXPECT_EQ(rates, (std::vector<double>{150, 80, 15, 15, 15, 200}));
}

TEST(SilkShare, FloorIsReachedByALargeStep) {
  SilkShare share{{}};
  EXPECT_TRUE(share.Observe(Load(1e9), kTick));
  EXPECT_DOUBLE_EQ(share.rate_bytes_per_s(), 10e6);
}

TEST(SilkShare, SmallChangesAreNotMade) {
  SilkShare share{{}};
  EXPECT_FALSE(share.Observe(Load(9e6), kTick));
  EXPECT_DOUBLE_EQ(share.rate_bytes_per_s(), 200e6);
  EXPECT_TRUE(share.Observe(Load(10e6), kTick));
  EXPECT_DOUBLE_EQ(share.rate_bytes_per_s(), 190e6);
}

TEST(SilkShare, PeaksBeginAboveThreeQuarters) {
  SilkShare share{{}};
  share.Observe(Load(149e6), kTick);
  EXPECT_FALSE(share.peak());
  EXPECT_TRUE(share.Observe(Load(152e6), kTick)) << "the peak alone is a change";
  EXPECT_TRUE(share.peak());
  EXPECT_TRUE(share.Observe(Load(149e6), kTick));
  EXPECT_FALSE(share.peak());
}

TEST(SilkShare, NoTimeShowsNothing) {
  SilkShare share{{}};
  EXPECT_FALSE(share.Observe(1e9, 0));
  EXPECT_DOUBLE_EQ(share.rate_bytes_per_s(), 200e6);
}

// Bytes that a class gets in a second of ticks at a rate, asking for 64 KiB at a time.
double Granted(SilkBucket* bucket, SilkClass work, double rate) {
  constexpr double kRequest = 1 << 16;
  double granted = 0;
  for (int tick = 0; tick < 100; tick++) {
    bucket->Refill(rate, kTick);
    while (bucket->TryTake(work, kRequest)) granted += kRequest;
  }
  return granted;
}

TEST(SilkBucket, FlushesNeverWait) {
  SilkBucket bucket{{}};
  bucket.SetPeak(true);
  for (int i = 0; i < 100; i++) EXPECT_TRUE(bucket.TryTake(SilkClass::kFlush, 1e6));
}

TEST(SilkBucket, DeepWorkGetsTheRate) {
  SilkBucket bucket{{}};
  EXPECT_NEAR(Granted(&bucket, SilkClass::kDeep, 50e6), 50e6, 1e5);
}

TEST(SilkBucket, Level0HasItsGuaranteeBesides) {
  SilkBucket bucket{{}};
  EXPECT_NEAR(Granted(&bucket, SilkClass::kLevel0, 50e6), 60e6, 2e5);
}

TEST(SilkBucket, FlushesLeaveLevel0ItsGuaranteeAndOthersNothing) {
  SilkBucket bucket{{}};
  bucket.Refill(50e6, kTick);
  EXPECT_TRUE(bucket.TryTake(SilkClass::kFlush, 100e6));
  EXPECT_TRUE(bucket.TryTake(SilkClass::kLevel0, 50e3));
  EXPECT_FALSE(bucket.TryTake(SilkClass::kLevel1, 1));
  EXPECT_FALSE(bucket.TryTake(SilkClass::kDeep, 1));
}

TEST(SilkBucket, DebtIsPaidWithinASecond) {
  SilkBucket bucket{{}};
  bucket.Take(1e12);
  bucket.Refill(50e6, 0);
  bucket.Refill(50e6, 0.99);
  EXPECT_FALSE(bucket.TryTake(SilkClass::kDeep, 1));
  bucket.Refill(50e6, 0.02);
  EXPECT_TRUE(bucket.TryTake(SilkClass::kDeep, 1));
}

TEST(SilkBucket, LittleIsSavedUp) {
  SilkBucket bucket{{}};
  bucket.Refill(50e6, 1000);
  EXPECT_TRUE(bucket.TryTake(SilkClass::kDeep, 5e6));
  EXPECT_FALSE(bucket.TryTake(SilkClass::kDeep, 1));
}

TEST(SilkBucket, APeakHoldsDeepWorkOnly) {
  SilkBucket bucket{{}};
  bucket.SetPeak(true);
  bucket.Refill(50e6, kTick);
  EXPECT_FALSE(bucket.TryTake(SilkClass::kDeep, 1));
  EXPECT_TRUE(bucket.TryTake(SilkClass::kLevel1, 1));
  EXPECT_TRUE(bucket.TryTake(SilkClass::kLevel0, 1));
  bucket.SetPeak(false);
  EXPECT_TRUE(bucket.TryTake(SilkClass::kDeep, 1));
}

TEST(SilkBucket, UrgentWorkComesFirst) {
  SilkBucket bucket{{}};
  bucket.AddWaiter(SilkClass::kLevel0);
  bucket.AddWaiter(SilkClass::kDeep);
  bucket.Refill(50e6, kTick);
  EXPECT_FALSE(bucket.TryTake(SilkClass::kLevel1, 1));
  EXPECT_FALSE(bucket.TryTake(SilkClass::kDeep, 1));
  EXPECT_TRUE(bucket.TryTake(SilkClass::kLevel0, 1));
  bucket.RemoveWaiter(SilkClass::kLevel0);
  EXPECT_TRUE(bucket.TryTake(SilkClass::kLevel1, 1));
  EXPECT_TRUE(bucket.TryTake(SilkClass::kDeep, 1)) << "its own kind is not more urgent";
  EXPECT_EQ(bucket.waiters(SilkClass::kDeep), 1);
}

}  // namespace

}  // namespace kvdyno::tuners
