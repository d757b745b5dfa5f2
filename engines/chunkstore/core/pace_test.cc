#include "core/pace.h"

#include <gtest/gtest.h>

namespace chunkstore {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

// What a thousand bytes are delayed by, in seconds: thousands of them, so that the test's own time
// counts for nothing.
class PaceTest : public ::testing::Test {
 protected:
  void Flush(double ns_per_byte, bool busy = true) {
    now_ += static_cast<uint64_t>(1000 * ns_per_byte);
    pace_.Flushed(1000, busy, now_);
  }
  double DelayOf(double share) {
    const double before = Wait();
    pace_.Write(1000, share);
    return Wait() - before;
  }

  Pace pace_;

 private:
  double Wait() const { return static_cast<double>(pace_.WaitNs()) / kSecond; }
  uint64_t now_ = kSecond;
};

TEST_F(PaceTest, NothingIsDelayedBeforeAFlushWasTimed) {
  EXPECT_EQ(DelayOf(1), 0);
  Flush(5e9, /*busy=*/false);
  EXPECT_EQ(DelayOf(1), 0) << "the time between holds idle time";
}

TEST_F(PaceTest, ARingThreeQuartersFullIsFilledAsFastAsItEmpties) {
  Flush(0, /*busy=*/false);
  Flush(5e9);
  EXPECT_EQ(DelayOf(0.3), 0);
  EXPECT_NEAR(DelayOf(0.75), 5000, 10);
  const double half = DelayOf(0.5);
  EXPECT_GT(half, 100);
  EXPECT_LT(half, 2500);
  EXPECT_GT(DelayOf(1), 10'000);
}

TEST_F(PaceTest, FollowsWhatFlushesTake) {
  Flush(0, /*busy=*/false);
  Flush(5e9);
  Flush(9e9);
  EXPECT_NEAR(DelayOf(0.75), 6000, 10);
  for (int i = 0; i < 50; ++i) Flush(1e9);
  EXPECT_NEAR(DelayOf(0.75), 1000, 10);
}

TEST_F(PaceTest, DebtDelaysWhereTheRingIsEmptyToo) {
  pace_.SetDebt(3e9);
  EXPECT_NEAR(DelayOf(0), 3000, 10);
  Flush(0, /*busy=*/false);
  Flush(5e9);
  EXPECT_NEAR(DelayOf(0.75), 5000, 10) << "the longer of the two";
  pace_.SetDebt(0);
  EXPECT_NEAR(DelayOf(0), 0, 10);
}

TEST_F(PaceTest, NoNapsShorterThanTheyAreWorth) {
  pace_.SetDebt(static_cast<double>(Pace::kNapNs) / 10'000);
  pace_.Write(5000, 0);
  EXPECT_EQ(pace_.WaitNs(), 0U) << "half a nap";
}

}  // namespace
}  // namespace chunkstore
