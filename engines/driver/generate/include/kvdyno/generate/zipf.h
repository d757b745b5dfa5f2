// Zipf: draws rank k of n with probability proportional to (k + 1)^-theta, for any theta > 0.
// Owns a table of O(log n) cells; knows no keys.
// Immutable; one object may serve many threads, each with its own Random.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "kvdyno/base/random.h"

namespace kvdyno {

// Rejection from a staircase. Consecutive ranks form cells whose width grows with the rank (the
// first ranks have one each); a cell's steps are as high as its most popular rank. The alias
// method (Walker 1977, Vose 1991) draws a cell by its area, a rank is uniform inside it, and is
// kept with the ratio of its probability to the step. Steps fit so closely that, at the usual
// theta, more than nine draws in ten are kept without computing a power; the result is exact.
class Zipf {
 public:
  // n > 0, theta > 0. Takes tens of microseconds, whatever n is.
  Zipf(uint64_t n, double theta);

  // A rank in [0, n); 0 is the most popular.
  uint64_t Next(Random& random) const {
    for (;;) {
      const Cell& cell = Draw(random);
      if (cell.width == 1) return cell.first;
      const uint64_t rank = cell.first + MultiplyHigh(random.Next(), cell.width);
      const double height = random.Real();
      if (height < cell.lowest || height < Relative(rank, cell)) return rank;
    }
  }

  uint64_t n() const { return n_; }
  double theta() const { return theta_; }

  // The sum of k^-theta over k = 1..n, to about 14 digits.
  static double Zeta(uint64_t n, double theta);

 private:
  struct Cell {
    uint64_t first;  // rank
    uint64_t width;  // ranks
    double lowest;   // probability of the last rank, relative to the first
    uint64_t keep;   // of 2^64: chance of staying here once the alias method has come here
    uint64_t alias;  // the cell to go to otherwise
  };

  const Cell& Draw(Random& random) const {
    const unsigned __int128 product = static_cast<unsigned __int128>(random.Next()) * cells_.size();
    const Cell& cell = cells_[static_cast<uint64_t>(product >> 64)];
    return static_cast<uint64_t>(product) < cell.keep ? cell : cells_[cell.alias];
  }

  // Probability of a rank relative to the first of its cell.
  double Relative(uint64_t rank, const Cell& cell) const {
    return std::pow(static_cast<double>(cell.first + 1) / static_cast<double>(rank + 1), theta_);
  }

  void AddCells();
  void LinkAliases();

  uint64_t n_;
  double theta_;
  std::vector<Cell> cells_;
};

}  // namespace kvdyno
