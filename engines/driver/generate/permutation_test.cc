#include "kvdyno/generate/permutation.h"

#include <gtest/gtest.h>

#include <vector>

#include "kvdyno/base/testing/chi_square.h"

namespace kvdyno {
namespace {

void ExpectBijection(uint64_t count, uint64_t seed) {
  const Permutation permutation(count, seed);
  std::vector<bool> hit(count);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t image = permutation(i);
    ASSERT_LT(image, count) << "count " << count << ", seed " << seed << ", input " << i;
    ASSERT_FALSE(hit[image]) << "count " << count << ", seed " << seed << ", image " << image;
    hit[image] = true;
  }
}

TEST(Permutation, IsABijectionOfEverySmallRange) {
  for (uint64_t count = 1; count <= 600; ++count) {
    for (const uint64_t seed : {0, 1, 99}) ExpectBijection(count, seed);
  }
}

TEST(Permutation, IsABijectionOfLargeRanges) {
  for (const uint64_t count : {1021, 1024, 1025, 16383, 16384, 16385, 65537, 1000003, 1 << 20}) {
    ExpectBijection(count, 5);
  }
}

TEST(Permutation, StaysInsideHugeRanges) {
  for (const uint64_t count : {uint64_t{1} << 40, (uint64_t{1} << 63) + 1, ~uint64_t{0}}) {
    const Permutation permutation(count, 6);
    for (uint64_t i = 0; i < 1000; ++i) {
      EXPECT_LT(permutation(i), count);
      EXPECT_LT(permutation(count - 1 - i), count);
    }
  }
}

TEST(Permutation, DependsOnTheSeed) {
  const Permutation a(1000000, 1);
  const Permutation again(1000000, 1);
  const Permutation b(1000000, 2);
  int same = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(a(i), again(i));
    same += a(i) == b(i);
  }
  EXPECT_LT(same, 5);
}

// The first ranks are the popular ones: they must lie anywhere, and not in a lattice.
TEST(Permutation, SpreadsTheFirstRanksEvenly) {
  constexpr uint64_t kCount = 1000003;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Permutation permutation(kCount, seed);
    std::vector<uint64_t> places(20);
    std::vector<uint64_t> steps(20);
    for (uint64_t i = 0; i < 2000; ++i) {
      const uint64_t here = permutation(i);
      const uint64_t next = permutation(i + 1);
      ++places[here * 20 / kCount];
      ++steps[(next + kCount - here) % kCount * 20 / kCount];
    }
    const std::vector<double> even(20, 0.05);
    EXPECT_LT(std::abs(ChiSquareDeviation(places, even)), kFits) << "seed " << seed;
    EXPECT_LT(std::abs(ChiSquareDeviation(steps, even)), kFits) << "seed " << seed;
  }
}

}  // namespace
}  // namespace kvdyno
