// A budget that several stores share: own parts are certain, the rest follows reads, and never is
// more granted than there is.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "core/budget.h"
#include "kvdyno/base/testing/rng.h"

namespace chunkstore {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kMuch = 1000 * kMiB;

class SharedBudgetTest : public ::testing::Test {
 protected:
  std::unique_ptr<BudgetMember> Join(uint64_t own) {
    std::unique_ptr<BudgetMember> member;
    const kvdyno::Status joined = BudgetMember::Join(budget_, own, &member);
    EXPECT_TRUE(joined.ok()) << joined.ToString();
    return member;
  }

  std::shared_ptr<SharedBudget> budget_ = std::make_shared<SharedBudget>(100 * kMiB);
};

TEST_F(SharedBudgetTest, OneStoreGetsWhatItCanUse) {
  const auto only = Join(10 * kMiB);
  EXPECT_EQ(only->Settle(0, kMuch), 100 * kMiB);
  EXPECT_EQ(only->Settle(0, 40 * kMiB), 40 * kMiB);
  EXPECT_EQ(only->Settle(0, 5 * kMiB), 10 * kMiB) << "its own part";
}

TEST_F(SharedBudgetTest, ReadsDrawWhatNoStoreOwns) {
  const auto read = Join(20 * kMiB);
  const auto idle = Join(20 * kMiB);
  for (int i = 0; i < 4; ++i) {
    read->Settle(1000, kMuch);
    idle->Settle(0, kMuch);
  }
  EXPECT_GT(read->Settle(1000, kMuch), 79 * kMiB);
  EXPECT_GE(idle->Settle(0, kMuch), 20 * kMiB);
  for (int i = 0; i < 20; ++i) {
    read->Settle(0, kMuch);
    idle->Settle(1000, kMuch);
  }
  EXPECT_GT(idle->Settle(1000, kMuch), 79 * kMiB) << "it follows";
}

TEST_F(SharedBudgetTest, WhatOneCannotUseGoesToTheOthers) {
  const auto small = Join(10 * kMiB);
  const auto large = Join(10 * kMiB);
  for (int i = 0; i < 4; ++i) {
    small->Settle(100'000, 15 * kMiB);
    large->Settle(1, kMuch);
  }
  EXPECT_EQ(small->Settle(100'000, 15 * kMiB), 15 * kMiB);
  EXPECT_EQ(large->Settle(1, kMuch), 85 * kMiB);
}

TEST_F(SharedBudgetTest, NothingIsGrantedBeforeItWasGivenBack) {
  const auto first = Join(20 * kMiB);
  EXPECT_EQ(first->Settle(10, kMuch), 100 * kMiB);
  const auto second = Join(20 * kMiB);
  EXPECT_EQ(second->Settle(10, kMuch), 0u) << "the first one holds all";
  const uint64_t left = first->Settle(10, kMuch);
  EXPECT_LT(left, 100 * kMiB);
  EXPECT_EQ(second->Settle(10, kMuch), 0u) << "the first one is still shrinking";
  first->Settle(10, kMuch);
  EXPECT_GE(second->Settle(10, kMuch), 20 * kMiB);
}

TEST_F(SharedBudgetTest, OwnPartsBeyondItAreRefused) {
  const auto first = Join(70 * kMiB);
  std::unique_ptr<BudgetMember> second;
  const kvdyno::Status refused = BudgetMember::Join(budget_, 31 * kMiB, &second);
  EXPECT_EQ(refused.code(), kvdyno::Code::kInvalidArgument);
  EXPECT_NE(refused.message().find("at most 30MiB"), std::string::npos) << refused.ToString();
  EXPECT_EQ(second, nullptr);
  EXPECT_NE(Join(30 * kMiB), nullptr);
}

TEST_F(SharedBudgetTest, ALeaverReturnsWhatItHad) {
  auto first = Join(20 * kMiB);
  const auto second = Join(20 * kMiB);
  first->Settle(10, kMuch);
  first.reset();
  EXPECT_EQ(budget_->granted(), 0u);
  EXPECT_EQ(second->Settle(0, kMuch), 100 * kMiB);
}

TEST_F(SharedBudgetTest, NeverGrantsMoreThanThereIs) {
  const uint64_t seed = 7;
  kvdyno::testing::Rng rng(seed);
  std::vector<std::unique_ptr<BudgetMember>> members(6);
  for (int i = 0; i < 20'000; ++i) {
    auto& member = members[rng.Below(members.size())];
    if (member == nullptr) {
      member = Join(rng.Below(16) * kMiB);
    } else if (rng.OneIn(20)) {
      member.reset();
    } else {
      member->Settle(rng.Below(1000), rng.Below(150) * kMiB);
    }
    ASSERT_LE(budget_->granted(), budget_->bytes()) << "seed " << seed << ", step " << i;
  }
}

}  // namespace
}  // namespace chunkstore
