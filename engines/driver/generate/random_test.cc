#include "kvdyno/base/random.h"

#include <gtest/gtest.h>

#include <set>

#include "kvdyno/base/testing/chi_square.h"

namespace kvdyno {
namespace {

TEST(Random, IsReproducible) {
  Random a(42);
  Random b(42);
  Random c(43);
  int same = 0;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t draw = a.Next();
    EXPECT_EQ(draw, b.Next());
    same += draw == c.Next();
  }
  EXPECT_EQ(same, 0);
}

TEST(Random, SeedZeroIsAsGoodAsAny) {
  Random random(0);
  std::set<uint64_t> draws;
  for (int i = 0; i < 1000; ++i) draws.insert(random.Next());
  EXPECT_EQ(draws.size(), 1000u);
}

TEST(Random, EveryBitIsSetHalfTheTime) {
  Random random(1);
  constexpr int kDraws = 100000;
  std::vector<int> set(64);
  for (int i = 0; i < kDraws; ++i) {
    const uint64_t draw = random.Next();
    for (size_t bit = 0; bit < 64; ++bit) set[bit] += draw >> bit & 1;
  }
  for (const int count : set) EXPECT_NEAR(count, kDraws / 2, 5 * std::sqrt(kDraws / 4.0));
}

TEST(Random, RealIsUniform) {
  Random random(2);
  std::vector<uint64_t> observed(100);
  for (int i = 0; i < 1000000; ++i) {
    const double real = random.Real();
    ASSERT_GE(real, 0);
    ASSERT_LT(real, 1);
    ++observed[static_cast<size_t>(real * 100)];
  }
  EXPECT_LT(std::abs(ChiSquareDeviation(observed, std::vector<double>(100, 0.01))), kFits);
}

TEST(Random, BelowIsUniform) {
  for (const size_t n : {1, 2, 3, 7, 64, 1000}) {
    Random random(n);
    std::vector<uint64_t> observed(n);
    for (int i = 0; i < 500000; ++i) ++observed.at(random.Below(n));
    const std::vector<double> expected(n, 1 / static_cast<double>(n));
    EXPECT_LT(std::abs(ChiSquareDeviation(observed, expected)), kFits) << n;
  }
}

// A remainder would put half of these draws into the lowest third, a bare multiplication half of
// them on multiples of three.
TEST(Random, BelowHasNoBiasNearTheLargestNumbers) {
  Random random(3);
  const uint64_t n = uint64_t{3} << 62;
  constexpr int kDraws = 100000;
  int lowest_third = 0;
  int multiples_of_three = 0;
  for (int i = 0; i < kDraws; ++i) {
    const uint64_t draw = random.Below(n);
    ASSERT_LT(draw, n);
    lowest_third += draw < n / 3;
    multiples_of_three += draw % 3 == 0;
  }
  EXPECT_NEAR(lowest_third, kDraws / 3.0, 5 * std::sqrt(kDraws * 2.0 / 9));
  EXPECT_NEAR(multiples_of_three, kDraws / 3.0, 5 * std::sqrt(kDraws * 2.0 / 9));
}

TEST(ChiSquare, DistinguishesAFitFromAMisfit) {
  Random random(4);
  std::vector<uint64_t> observed(50);
  for (int i = 0; i < 100000; ++i) ++observed[random.Below(50)];
  std::vector<double> expected(50, 0.02);
  EXPECT_LT(std::abs(ChiSquareDeviation(observed, expected)), kFits);
  expected[3] += 0.004;
  expected[4] -= 0.004;
  EXPECT_GT(ChiSquareDeviation(observed, expected), kFits);
}

TEST(ChiSquare, RefusesDrawsWhereNoneCanBe) {
  EXPECT_EQ(ChiSquareDeviation({99, 1}, {1, 0}), INFINITY);
}

}  // namespace
}  // namespace kvdyno
