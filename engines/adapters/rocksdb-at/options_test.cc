// The limiter is what the options say.
#include "options.h"

#include <gtest/gtest.h>

namespace kvdyno::at {

namespace {

class AtOptions : public ::testing::Test {
 protected:
  AtOptions() { options_.Describe(&table_); }

  bool Limits(const std::string& what, rocksdb::RateLimiter::OpType type) {
    EXPECT_TRUE(table_.Set("limits", what).ok());
    return options_.MakeLimiter()->IsRateLimited(type);
  }

  Options options_;
  OptionTable table_;
};

TEST_F(AtOptions, TheMaximumReachesTheLimiter) {
  ASSERT_TRUE(table_.Set("bandwidth_max", "10MiB").ok());
  const int64_t rate = options_.MakeLimiter()->GetBytesPerSecond();
  EXPECT_GE(rate, (10 << 20) / 20);
  EXPECT_LE(rate, 10 << 20);
}

TEST_F(AtOptions, WhatIsLimitedReachesTheLimiter) {
  using Type = rocksdb::RateLimiter::OpType;
  EXPECT_TRUE(Limits("writes", Type::kWrite));
  EXPECT_FALSE(Limits("writes", Type::kRead));
  EXPECT_FALSE(Limits("reads", Type::kWrite));
  EXPECT_TRUE(Limits("reads", Type::kRead));
  EXPECT_TRUE(Limits("all", Type::kWrite));
  EXPECT_TRUE(Limits("all", Type::kRead));
}

TEST_F(AtOptions, NoBandwidthIsRefused) {
  EXPECT_EQ(table_.Set("bandwidth_max", "0").code(), Code::kInvalidArgument);
}

}  // namespace

}  // namespace kvdyno::at
