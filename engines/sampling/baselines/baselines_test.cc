#include "sampling/baselines.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <utility>

#include "kvdyno/base/testing/chi_square.h"
#include "kvdyno/base/testing/rng.h"

namespace sampling {
namespace {

using Make = std::unique_ptr<Sampler> (*)();
using Pair = std::pair<uint64_t, uint64_t>;
constexpr double kFits = 4.5;

class Baselines : public ::testing::TestWithParam<Make> {
 protected:
  double Deviation(const Query& query, size_t draws) {
    std::vector<double> expected;
    std::map<Pair, size_t> cell;
    double total = 0;
    for (const auto& [pair, weight] : live_) {
      if (!query.Accepts({pair.first, pair.second, weight})) continue;
      cell[pair] = expected.size();
      expected.push_back(weight);
      total += weight;
    }
    for (double& share : expected) share /= total;
    std::vector<uint64_t> observed(expected.size(), 0);
    std::vector<Record> samples;
    for (size_t drawn = 0; drawn < draws; drawn += 500) {
      if (!sampler_->Sample(query, 500, &random_, &samples).ok()) return INFINITY;
      for (const Record& sample : samples) {
        const auto at = cell.find({sample.key, sample.value});
        if (at == cell.end()) return INFINITY;
        ++observed[at->second];
      }
    }
    return kvdyno::ChiSquareDeviation(observed, expected);
  }

  std::unique_ptr<Sampler> sampler_ = GetParam()();
  std::map<Pair, double> live_;
  Random random_{1};
};

TEST_P(Baselines, DrawsFollowTheWeightsThroughInsertsAndDeletes) {
  kvdyno::testing::Rng rng(2);
  for (int step = 0; step < 6000; ++step) {
    const Pair pair{rng.Below(1500), rng.Below(3)};
    const bool live = live_.count(pair) != 0;
    if (rng.OneIn(3)) {
      ASSERT_EQ(sampler_->Delete(pair.first, pair.second).ok(), live);
      live_.erase(pair);
    } else if (!live) {
      live_[pair] = step == 3000 ? 1e6 : static_cast<double>(rng.Skewed(100));
      ASSERT_TRUE(sampler_->Insert({pair.first, pair.second, live_[pair]}).ok());
    }
  }
  ASSERT_EQ(sampler_->statistics().records, live_.size());
  EXPECT_LT(Deviation({}, 100000), kFits);
  EXPECT_LT(Deviation({100, 900, {}}, 50000), kFits);
  EXPECT_LT(Deviation({300, 303, {}}, 5000), kFits);
  EXPECT_LT(Deviation({0, UINT64_MAX, [](const Record& r) { return r.value == 1; }}, 50000), kFits);
  for (const auto& [pair, weight] : live_)
    ASSERT_TRUE(sampler_->Delete(pair.first, pair.second).ok());
  std::vector<Record> samples;
  EXPECT_TRUE(sampler_->Sample({}, 1, &random_, &samples).not_found());
}

INSTANTIATE_TEST_SUITE_P(All, Baselines,
                         ::testing::Values(&MakeStaticAlias, &MakeFenwickTree, &MakeAggregateTree,
                                           &MakeReservoir));

}  // namespace
}  // namespace sampling
