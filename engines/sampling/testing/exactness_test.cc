// Every live record is drawn with probability weight / sum of weights, whatever its age and place.
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "kvdyno/base/testing/chi_square.h"
#include "model.h"

namespace sampling::guarantees {
namespace {

constexpr size_t kDraws = 60000;
constexpr size_t kInserts = 700;

class Exactness : public ::testing::TestWithParam<std::tuple<const Kind*, Weights, Fill>> {};

TEST_P(Exactness, DrawsFollowTheWeightsUnderEveryPolicy) {
  const auto [kind, weights, fill] = GetParam();
  uint64_t seed = 1;
  for (const Options& options : Policies(*kind)) {
    SCOPED_TRACE(NameOf(options));
    Model model(options, seed++);
    ASSERT_TRUE(model.Play(weights, fill, kInserts).ok());
    EXPECT_EQ(model.Difference(), "");
    EXPECT_LT(model.Deviation({}, kDraws), kFits);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Exactness,
    ::testing::Combine(::testing::Values(&kWeightedSet, &kUniformRange, &kWeightedRange),
                       ::testing::Values(Weights::kUnit, Weights::kPareto, Weights::kGiant),
                       ::testing::Values(Fill::kEmpty, Fill::kHalf, Fill::kFull)));

TEST(Exactness, DrawsFromARangeAndByAPredicateFollowTheWeights) {
  uint64_t seed = 100;
  for (const Kind* kind : {&kWeightedSet, &kUniformRange, &kWeightedRange}) {
    for (const Options& options : Policies(*kind)) {
      SCOPED_TRACE(NameOf(options));
      Model model(options, seed++);
      ASSERT_TRUE(model.Play(Weights::kPareto, Fill::kHalf, kInserts).ok());
      const Query range{UINT64_MAX / 5, UINT64_MAX / 2, {}};
      EXPECT_LT(model.Deviation(range, kDraws / 4), kFits);
      const Query odd{0, UINT64_MAX, [](const Record& record) { return record.value % 2 == 1; }};
      EXPECT_LT(model.Deviation(odd, kDraws / 4), kFits);
      const Query both{UINT64_MAX / 5, UINT64_MAX / 2, odd.predicate};
      EXPECT_LT(model.Deviation(both, kDraws / 4), kFits);
    }
  }
}

// A range so narrow that rejection would hardly ever succeed.
TEST(Exactness, ARareRecordIsFoundByCollectingTheLiveOnes) {
  for (const Options& options : Policies(kWeightedSet)) {
    SCOPED_TRACE(NameOf(options));
    Model model(options, 7);
    ASSERT_TRUE(model.Play(Weights::kUnit, Fill::kHalf, 3000).ok());
    const Pair pair = model.AnyLive();
    std::vector<Record> samples;
    ASSERT_TRUE(
        model.index().Sample({pair.first, pair.first, {}}, 5000, &model.random(), &samples).ok());
    EXPECT_EQ(samples.size(), 5000u);
    EXPECT_EQ(samples.front().key, pair.first);
    EXPECT_EQ(model.index().statistics().materialised, 1u);
  }
}

// Where a heavy record was deleted, sums that still include it must not hide the light ones.
TEST(Exactness, ADeletedGiantLeavesNoTrace) {
  for (const double giant : {1e3, 1e9, 1e16, 1e25}) {
    for (const Fill fill : {Fill::kHalf, Fill::kEmpty}) {
      for (const Options& options : Policies(kWeightedSet)) {
        SCOPED_TRACE(NameOf(options) + " giant " + std::to_string(giant));
        Model model(options, 11);
        ASSERT_TRUE(model.Insert({5, 5, giant}).ok());
        ASSERT_TRUE(model.Play(Weights::kUnit, fill, fill == Fill::kHalf ? 0 : 60).ok());
        ASSERT_TRUE(model.Delete({5, 5}).ok());
        EXPECT_LT(model.Deviation({}, 10000), kFits);
      }
    }
  }
}

// Counts pairs of draws that lie `lag` apart, beside the product of their probabilities.
double PairDeviation(const std::vector<size_t>& draws, const std::vector<double>& shares,
                     size_t lag) {
  std::vector<uint64_t> observed(shares.size() * shares.size(), 0);
  std::vector<double> expected;
  for (const double first : shares) {
    for (const double second : shares) expected.push_back(first * second);
  }
  // Pairs that share no draw, so that they are independent.
  for (size_t i = 0; i + lag < draws.size(); i += i % lag + 1 == lag ? lag + 1 : 1) {
    ++observed[draws[i] * shares.size() + draws[i + lag]];
  }
  return kvdyno::ChiSquareDeviation(observed, expected);
}

TEST(Independence, SuccessiveDrawsAndRepeatedQueriesKnowNothingOfEachOther) {
  for (const Options& small : Policies(kWeightedSet)) {
    SCOPED_TRACE(NameOf(small));
    Options options = small;
    options.buffer_records = 2;  // a few records lie in several places
    Model model(options, 13);
    std::vector<double> shares;
    for (uint64_t key = 0; key < 9; ++key) {
      ASSERT_TRUE(model.Insert({key, 0, 1.0 + static_cast<double>(key)}).ok());
      shares.push_back((1.0 + static_cast<double>(key)) / 45);
    }
    ASSERT_GE(model.index().statistics().shards, 1u);
    const auto draw = [&](size_t queries, size_t k) {
      std::vector<size_t> draws;
      std::vector<Record> samples;
      for (size_t i = 0; i < queries; ++i) {
        EXPECT_TRUE(model.index().Sample({}, k, &model.random(), &samples).ok());
        for (const Record& sample : samples) draws.push_back(sample.key);
      }
      return draws;
    };
    const std::vector<size_t> one_query = draw(1, 100000);
    EXPECT_LT(PairDeviation(one_query, shares, 1), kFits);
    EXPECT_LT(PairDeviation(one_query, shares, 64), kFits);  // a batch apart
    EXPECT_LT(PairDeviation(draw(50000, 1), shares, 1), kFits);
  }
}

TEST(Cost, TrialsPerSampleFollowTheRejectedMass) {
  for (const Deletes deletes : {Deletes::kTagging, Deletes::kTombstones}) {
    Options options = SmallOptions(kWeightedSet, Layout::kTiering, deletes);
    options.max_deleted = 0.99;
    Model model(options, 17);
    constexpr uint64_t kRecords = 32 * 3 * 3;  // one full level, nothing in the buffer
    for (uint64_t key = 0; key < kRecords; ++key) ASSERT_TRUE(model.Insert({key, 0, 1}).ok());
    for (uint64_t key = 0; key < 30; ++key) ASSERT_TRUE(model.Delete({key, 0}).ok());
    const Statistics before = model.index().statistics();
    std::vector<Record> samples;
    for (int i = 0; i < 500; ++i) {
      ASSERT_TRUE(model.index().Sample({}, 100, &model.random(), &samples).ok());
    }
    const Statistics after = model.index().statistics();
    const double rejected = 30.0 / kRecords;
    EXPECT_NEAR(static_cast<double>(after.draws - before.draws) /
                    static_cast<double>(after.accepted - before.accepted),
                1 / (1 - rejected), 0.01);
    EXPECT_EQ(after.materialised, 0u);
  }
}

}  // namespace
}  // namespace sampling::guarantees
