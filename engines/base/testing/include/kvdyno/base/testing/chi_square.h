// Pearson's test of counted draws against the probabilities they should have; for tests only.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace kvdyno {

// How many standard deviations the statistic lies above its expectation: a fit gives a few, with
// either sign; a wrong distribution gives tens. Neighbouring cells are pooled until 20 draws are
// expected in each (Cochran's rule asks for 5); the statistic is made normal by Wilson and
// Hilferty's cube root. `expected` sums to one; a draw where nothing is expected is infinitely far.
inline double ChiSquareDeviation(const std::vector<uint64_t>& observed,
                                 const std::vector<double>& expected) {
  double draws = 0;
  for (const uint64_t count : observed) draws += static_cast<double>(count);

  double statistic = 0;
  double cells = 0;
  double pooled_observed = 0;
  double pooled_expected = 0;
  double left = 1;  // probability of the cells not pooled yet
  for (size_t i = 0; i < observed.size(); ++i) {
    if (expected[i] == 0 && observed[i] > 0) return INFINITY;
    pooled_observed += static_cast<double>(observed[i]);
    pooled_expected += expected[i] * draws;
    left -= expected[i];
    const bool last = i + 1 == observed.size();
    if (!last && (pooled_expected < 20 || left * draws < 20)) continue;
    const double difference = pooled_observed - pooled_expected;
    statistic += difference * difference / pooled_expected;
    cells += 1;
    pooled_observed = 0;
    pooled_expected = 0;
  }
  const double freedom = cells - 1;
  if (freedom < 1) return statistic;  // one cell: zero when every draw fell into it
  const double spread = 2 / (9 * freedom);
  return (std::cbrt(statistic / freedom) - (1 - spread)) / std::sqrt(spread);
}

// Deviations beyond this have a probability below 1 in 10,000; seeds are fixed, so that a test
// that passes once passes always.
constexpr double kFits = 4;

}  // namespace kvdyno
