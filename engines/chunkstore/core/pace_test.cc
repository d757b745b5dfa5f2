#include "core/pace.h"

#include <gtest/gtest.h>

namespace chunkstore {
namespace {

class PaceTest : public ::testing::Test {
 protected:
  // A stage of 1000 bytes, so long after the one before.
  void Flush(uint64_t after_ns, bool busy = true, uint64_t bytes = 1000) {
    now_ += after_ns;
    pace_.Flushed(bytes, 1000, busy, now_);
  }

  Pace pace_;

 private:
  uint64_t now_ = 1'000'000;
};

TEST_F(PaceTest, NothingIsDelayedBeforeAFlushWasTimed) {
  EXPECT_EQ(pace_.DelayNs(1), 0);
  Flush(5000, /*busy=*/false);
  EXPECT_EQ(pace_.DelayNs(1), 0) << "the time between holds idle time";
  Flush(5000, /*busy=*/true, /*bytes=*/10);
  EXPECT_EQ(pace_.DelayNs(1), 0) << "asked for, before the stage was full";
}

TEST_F(PaceTest, ARingThreeQuartersFullIsFilledAsFastAsItEmpties) {
  Flush(0, /*busy=*/false);
  Flush(5000);
  EXPECT_EQ(pace_.DelayNs(0.3), 0);
  EXPECT_DOUBLE_EQ(pace_.DelayNs(0.75), 5);
  EXPECT_GT(pace_.DelayNs(0.5), 0.1);
  EXPECT_LT(pace_.DelayNs(0.5), 2.5);
  EXPECT_GT(pace_.DelayNs(1), 10);
}

TEST_F(PaceTest, FollowsWhatFlushesTake) {
  Flush(0, /*busy=*/false);
  Flush(5000);
  Flush(9000);
  EXPECT_DOUBLE_EQ(pace_.DelayNs(0.75), 6);
  for (int i = 0; i < 50; ++i) Flush(1000);
  EXPECT_NEAR(pace_.DelayNs(0.75), 1, 0.01);
}

TEST_F(PaceTest, DebtDelaysWhereTheRingIsEmptyToo) {
  pace_.SetDebt(3);
  EXPECT_EQ(pace_.DelayNs(0), 3);
  Flush(0, /*busy=*/false);
  Flush(5000);
  EXPECT_DOUBLE_EQ(pace_.DelayNs(0.75), 5) << "the longer of the two";
  pace_.SetDebt(0);
  EXPECT_EQ(pace_.DelayNs(0), 0);
}

TEST_F(PaceTest, WaitsAreWorthANapAndHaveAnEnd) {
  pace_.SetDebt(static_cast<double>(Pace::kNapNs) / 1000);
  pace_.Write(500, 0);
  EXPECT_EQ(pace_.WaitNs(), 0U) << "half a nap";
  uint64_t wait_ns = 0;
  // Again where this thread did not run for as long.
  for (int i = 0; i < 100 && wait_ns == 0; ++i) {
    pace_.Write(1'000'000, 0);
    wait_ns = pace_.WaitNs();
  }
  EXPECT_GT(wait_ns, Pace::kNapNs);
  EXPECT_LE(wait_ns, Pace::kMostNs);
}

}  // namespace
}  // namespace chunkstore
