#include "kvdyno/generate/zipf.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numbers>

#include "kvdyno/base/testing/chi_square.h"

namespace kvdyno {
namespace {

// Probability of each rank, by the definition.
std::vector<double> Probabilities(uint64_t n, double theta) {
  std::vector<double> probabilities(n);
  long double sum = 0;
  for (uint64_t k = n; k > 0; --k) sum += std::pow(static_cast<long double>(k), -theta);
  for (uint64_t k = 1; k <= n; ++k) {
    probabilities[k - 1] = static_cast<double>(std::pow(static_cast<long double>(k), -theta) / sum);
  }
  return probabilities;
}

std::vector<uint64_t> Counts(const Zipf& zipf, int draws, uint64_t seed) {
  Random random(seed);
  std::vector<uint64_t> counts(zipf.n());
  for (int i = 0; i < draws; ++i) ++counts.at(zipf.Next(random));
  return counts;
}

TEST(Zeta, IsTheSum) {
  for (const double theta : {0.01, 0.5, 0.8, 0.99, 1.0, 1.000001, 1.2, 3.0}) {
    long double sum = 0;
    for (uint64_t k = 1; k <= 200000; ++k) {
      sum += std::pow(static_cast<long double>(k), -static_cast<long double>(theta));
      if (k != 1 && k != 63 && k != 64 && k != 65 && k != 1000 && k != 200000) continue;
      EXPECT_NEAR(Zipf::Zeta(k, theta) / static_cast<double>(sum), 1, 1e-13)
          << "n " << k << ", theta " << theta;
    }
  }
}

TEST(Zeta, ApproachesItsLimits) {
  EXPECT_NEAR(Zipf::Zeta(uint64_t{1} << 60, 2), std::numbers::pi * std::numbers::pi / 6, 1e-13);
  EXPECT_NEAR(Zipf::Zeta(1000000000000, 1), std::log(1e12) + std::numbers::egamma, 1e-11);
}

// "theta80", as a test's name.
std::string ThetaName(double theta) {
  return std::string("theta").append(std::to_string(std::lround(theta * 100)));
}

struct Shape {
  uint64_t n;
  double theta;
};

class ZipfTest : public testing::TestWithParam<Shape> {};

TEST_P(ZipfTest, FitsItsProbabilities) {
  const auto [n, theta] = GetParam();
  constexpr int kDraws = 1000000;
  const std::vector<uint64_t> counts = Counts(Zipf(n, theta), kDraws, n);
  EXPECT_LT(std::abs(ChiSquareDeviation(counts, Probabilities(n, theta))), kFits);
}

TEST_P(ZipfTest, GivesTheTopRankItsShare) {
  const auto [n, theta] = GetParam();
  constexpr int kDraws = 1000000;
  const double share = 1 / Zipf::Zeta(n, theta);
  const std::vector<uint64_t> counts = Counts(Zipf(n, theta), kDraws, n + 1);
  EXPECT_NEAR(static_cast<double>(counts[0]) / kDraws, share,
              5 * std::sqrt(share * (1 - share) / kDraws) + 1e-12);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ZipfTest,
    testing::Values(Shape{1, 0.99}, Shape{2, 0.8}, Shape{31, 0.99}, Shape{33, 1.0},
                    Shape{1000, 0.01}, Shape{1000, 0.8}, Shape{1000, 0.99}, Shape{1000, 1.0},
                    Shape{1000, 1.2}, Shape{1000, 5.0}, Shape{100003, 0.5}, Shape{100003, 0.8},
                    Shape{100003, 0.99}, Shape{100003, 1.0}, Shape{100003, 1.2},
                    Shape{100003, 40.0}),
    [](const auto& shape) {
      return ThetaName(shape.param.theta).append("_n").append(std::to_string(shape.param.n));
    });

// The chi-square of FitsItsProbabilities is sharp enough to see a theta that is off by 0.01.
TEST(Zipf, ANearbyThetaDoesNotFit) {
  const std::vector<uint64_t> counts = Counts(Zipf(1000, 0.98), 1000000, 9);
  EXPECT_GT(ChiSquareDeviation(counts, Probabilities(1000, 0.99)), 2 * kFits);
}

class ZipfSkewTest : public testing::TestWithParam<double> {};

// On logarithmic axes, counts over ranks lie on a line of slope -theta.
TEST_P(ZipfSkewTest, HasTheSlopeOfAPowerLaw) {
  const double theta = GetParam();
  const std::vector<uint64_t> counts = Counts(Zipf(1000000, theta), 4000000, 11);
  constexpr int kRanks = 100;
  double x_mean = 0;
  double y_mean = 0;
  for (size_t k = 0; k < kRanks; ++k) {
    x_mean += std::log(k + 1) / kRanks;
    y_mean += std::log(counts[k]) / kRanks;
  }
  double covariance = 0;
  double variance = 0;
  for (size_t k = 0; k < kRanks; ++k) {
    const double x = std::log(k + 1) - x_mean;
    covariance += x * (std::log(counts[k]) - y_mean);
    variance += x * x;
  }
  EXPECT_NEAR(covariance / variance, -theta, 0.01);
}

TEST_P(ZipfSkewTest, GivesTheTopHundredthItsShare) {
  const double theta = GetParam();
  constexpr uint64_t kRanks = 1000000;
  constexpr int kDraws = 1000000;
  const Zipf zipf(kRanks, theta);
  Random random(12);
  int top = 0;
  for (int i = 0; i < kDraws; ++i) top += zipf.Next(random) < kRanks / 100;
  const double share = Zipf::Zeta(kRanks / 100, theta) / Zipf::Zeta(kRanks, theta);
  EXPECT_NEAR(top / double{kDraws}, share, 5 * std::sqrt(share * (1 - share) / kDraws));
}

// Over more ranks than can be counted one by one, each power of two gets its share.
TEST_P(ZipfSkewTest, FitsAHugeRange) {
  const double theta = GetParam();
  constexpr size_t kOctaves = 40;
  constexpr uint64_t kRanks = uint64_t{1} << kOctaves;
  const Zipf zipf(kRanks, theta);
  Random random(13);
  std::vector<uint64_t> counts(kOctaves + 1);
  for (int i = 0; i < 1000000; ++i) {
    const uint64_t rank = zipf.Next(random);
    ASSERT_LT(rank, kRanks);
    ++counts[static_cast<size_t>(std::bit_width(rank + 1)) - 1];
  }
  std::vector<double> expected(kOctaves + 1);
  double below = 0;
  for (size_t octave = 0; octave <= kOctaves; ++octave) {
    const uint64_t last = std::min(kRanks, (uint64_t{2} << octave) - 1);
    const double sum = Zipf::Zeta(last, theta);
    expected[octave] = (sum - below) / Zipf::Zeta(kRanks, theta);
    below = sum;
  }
  EXPECT_LT(std::abs(ChiSquareDeviation(counts, expected)), kFits);
}

INSTANTIATE_TEST_SUITE_P(Thetas, ZipfSkewTest, testing::Values(0.8, 0.99, 1.0, 1.2),
                         [](const auto& theta) { return ThetaName(theta.param); });

}  // namespace
}  // namespace kvdyno
