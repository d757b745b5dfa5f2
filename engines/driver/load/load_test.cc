// What clients share: new keys, shares of the work, scan lengths, the crew.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "load/budget.h"
#include "load/crew.h"
#include "load/key_sequence.h"
#include "load/stop_signal.h"
#include "load/workload.h"

namespace kvdyno {
namespace {

TEST(KeySequence, AKeyInFlightHoldsBackAllAboveIt) {
  KeySequence keys(100, 2);
  EXPECT_EQ(keys.stored(), 100u);
  EXPECT_EQ(keys.Take(0), 100u);
  EXPECT_EQ(keys.Take(1), 101u);
  keys.Acknowledge(1);
  EXPECT_EQ(keys.stored(), 100u);  // key 100 is not stored yet
  EXPECT_EQ(keys.Take(1), 102u);
  keys.Acknowledge(0);
  EXPECT_EQ(keys.stored(), 102u);
  keys.Acknowledge(1);
  EXPECT_EQ(keys.stored(), 103u);
}

TEST(KeySequence, StoredNeverRunsAheadOfTheStore) {
  constexpr uint64_t kClients = 4;
  constexpr uint64_t kEach = 20'000;
  KeySequence keys(0, kClients);
  std::vector<std::atomic<bool>> written(kClients * kEach);
  std::atomic<uint64_t> early{0};
  Crew crew(kClients);
  crew.Run([&](uint64_t client) {
    for (uint64_t i = 0; i < kEach; ++i) {
      written[keys.Take(client)] = true;
      keys.Acknowledge(client);
      const uint64_t stored = keys.stored();
      if (stored > 0 && !written[stored - 1]) ++early;
    }
  });
  EXPECT_EQ(early, 0u);
  EXPECT_EQ(keys.stored(), kClients * kEach);
}

TEST(Budget, DealsEveryOperationOnce) {
  for (const uint64_t total : {1u, 7u, 64u, 1000u, 100'001u}) {
    Budget budget({.operations = total}, 3);
    std::vector<uint64_t> dealt;
    for (auto share = budget.TakeOperations(); share.count > 0; share = budget.TakeOperations()) {
      for (uint64_t i = 0; i < share.count; ++i) dealt.push_back(share.first + i);
    }
    ASSERT_EQ(dealt.size(), total);
    for (uint64_t i = 0; i < total; ++i) ASSERT_EQ(dealt[i], i);
  }
}

TEST(Budget, WithoutLimitThereIsAlwaysMore) {
  Budget budget({}, 2);
  for (int i = 0; i < 1000; ++i) ASSERT_GT(budget.TakeOperations().count, 0u);
  EXPECT_GT(budget.TakeBytes(), 0u);
}

TEST(Budget, SharesOfShortPhasesAreSmall) {
  Budget budget({.operations = 256}, 4);
  EXPECT_EQ(budget.TakeOperations().count, 1u) << "or one client would do all of it";
}

TEST(Budget, AnOpenLoopDealsOneByOne) {
  Budget budget({.operations = 1'000'000}, 1, true);
  EXPECT_EQ(budget.TakeOperations().count, 1u);
}

TEST(Workload, KeysLoadedFirstAreNotThePopularOnes) {
  Settings settings;
  settings.insert_order = "hashed";
  std::unique_ptr<Workload> workload;
  ASSERT_TRUE(Workload::Make(settings, &workload).ok());
  const auto count = static_cast<uint64_t>(settings.record_count);
  const Permutation popularity(count, static_cast<uint64_t>(settings.seed));
  uint64_t same = 0;
  for (uint64_t i = 0; i < count; ++i) same += workload->LoadIndex(i) == popularity(i) ? 1 : 0;
  EXPECT_LT(same, 10u) << "one is to be expected of unrelated orders";
}

TEST(StopSignal, KeepsTheFirstFailure) {
  StopSignal stop;
  EXPECT_FALSE(stop.requested());
  stop.Fail({Status::IoError("first")});
  stop.Fail({Status::Corruption("second"), true});
  EXPECT_TRUE(stop.requested());
  EXPECT_FALSE(stop.interrupted());
  EXPECT_EQ(stop.failure().status.message(), "first");
  EXPECT_FALSE(stop.failure().wrong_data);
}

TEST(Crew, TheSameThreadKeepsItsNumber) {
  Crew crew(3);
  std::vector<std::thread::id> first(3), second(3);
  crew.Run([&](uint64_t i) { first[i] = std::this_thread::get_id(); });
  crew.Run([&](uint64_t i) { second[i] = std::this_thread::get_id(); });
  EXPECT_EQ(first, second);
  EXPECT_EQ(std::set<std::thread::id>(first.begin(), first.end()).size(), 3u);
}

TEST(ScanLengths, StayWithinBoundsAndReachThem) {
  Random random(1);
  for (const auto distribution :
       {ScanLengthDistribution::kUniform, ScanLengthDistribution::kZipfian}) {
    const ScanLengths lengths(3, 12, distribution, 0.8);
    std::map<uint64_t, int> counts;
    for (int i = 0; i < 10'000; ++i) ++counts[lengths.Next(random)];
    EXPECT_EQ(counts.begin()->first, 3u);
    EXPECT_EQ(counts.rbegin()->first, 12u);
    const bool favours_short = counts[3] > 2 * counts[12];
    EXPECT_EQ(favours_short, distribution == ScanLengthDistribution::kZipfian);
  }
  const ScanLengths constant(3, 12, ScanLengthDistribution::kConstant, 0.8);
  EXPECT_EQ(constant.Next(random), 12u);
}

}  // namespace
}  // namespace kvdyno
