// Percentiles of the histogram, and sums over threads.
#include "core/counters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>

#include "kvdyno/base/testing/rng.h"

namespace chunkstore {
namespace {

using kvdyno::testing::Rng;

TEST(LatencyHistogram, IsZeroWhenEmpty) {
  const LatencyHistogram histogram;
  EXPECT_EQ(histogram.PercentileNs(0.5), 0);
  EXPECT_EQ(histogram.PercentileNs(1), 0);
}

// The upper end of a bucket that is a quarter of a power of two wide.
TEST(LatencyHistogram, OneValueIsWithinItsBucket) {
  for (uint64_t ns = 4; ns < (uint64_t{1} << 38); ns = ns * 9 / 8 + 1) {
    LatencyHistogram histogram;
    histogram.Add(ns);
    for (const double share : {0.01, 0.5, 0.99, 1.0}) {
      const double percentile = histogram.PercentileNs(share);
      EXPECT_GT(percentile, static_cast<double>(ns)) << ns;
      EXPECT_LE(percentile, 1.25 * static_cast<double>(ns)) << ns;
    }
  }
}

TEST(LatencyHistogram, TinyValuesAreExact) {
  for (uint64_t ns = 0; ns < 4; ++ns) {
    LatencyHistogram histogram;
    histogram.Add(ns);
    EXPECT_EQ(histogram.PercentileNs(1), static_cast<double>(ns));
  }
}

TEST(LatencyHistogram, HugeValuesAreCounted) {
  LatencyHistogram histogram;
  histogram.Add(UINT64_MAX);
  EXPECT_GT(histogram.PercentileNs(0.5), 1e12);
}

TEST(LatencyHistogram, PercentilesOfManyValues) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    LatencyHistogram histogram;
    std::vector<uint64_t> values;
    for (uint64_t i = rng.Between(1, 3000); i > 0; --i) {
      values.push_back(3 + rng.Skewed(uint64_t{1} << 30));
      histogram.Add(values.back());
    }
    std::sort(values.begin(), values.end());
    double last = 0;
    for (const double share : {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0}) {
      const auto rank =
          static_cast<size_t>(std::ceil(share * static_cast<double>(values.size()))) - 1;
      const auto exact = static_cast<double>(values[rank]);
      const double percentile = histogram.PercentileNs(share);
      EXPECT_GT(percentile, exact);
      EXPECT_LE(percentile, 1.25 * exact);
      EXPECT_GE(percentile, last);
      last = percentile;
    }
  }
}

TEST(Counters, SumsOverThreads) {
  Counters counters;
  constexpr uint64_t kThreads = 40, kRounds = 1000;  // more threads than shards
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&counters, t] {
      for (uint64_t i = 0; i < kRounds; ++i) {
        counters.Add(Count::kPuts);
        counters.Add(Count::kPutBytes, t);
        counters.Get(Served::kLog, 3);
        if (i % 2 == 0) counters.Get(Served::kNowhere, 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counters.Sum(Count::kPuts), kThreads * kRounds);
  EXPECT_EQ(counters.Sum(Count::kPutBytes), kRounds * kThreads * (kThreads - 1) / 2);
  EXPECT_EQ(counters.Sum(Count::kScans), 0U);
  EXPECT_EQ(counters.Gets(Served::kLog), kThreads * kRounds);
  EXPECT_EQ(counters.GetBytes(Served::kLog), 3 * kThreads * kRounds);
  EXPECT_EQ(counters.Gets(Served::kNowhere), kThreads * kRounds / 2);
  EXPECT_EQ(counters.Gets(Served::kMunk), 0U);
}

TEST(Counters, OneGetIn64IsTimed) {
  std::thread([] {
    int timed = 0;
    for (int i = 0; i < 640; ++i) timed += Counters::TimeThis() ? 1 : 0;
    EXPECT_EQ(timed, 10);
  }).join();
}

TEST(Counters, LatenciesAreKeptByComponent) {
  Counters counters;
  counters.latency(Served::kTable).Add(100);
  EXPECT_GT(counters.latency(Served::kTable).PercentileNs(0.5), 100);
  EXPECT_EQ(counters.latency(Served::kMunk).PercentileNs(0.5), 0);
}

}  // namespace
}  // namespace chunkstore
