// Alias tables (Walker 1977, Vose 1991): draws from a fixed discrete distribution in constant time.
// Built by sweeping (Huebschle-Schneider and Sanders 2022, section 4): two passes in order of memory
// and no work lists. Immutable once built, safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <vector>

#include "kvdyno/base/random.h"

namespace sampling {

using kvdyno::Random;

// A column: itself with probability `keep`, else `other`. Positions count from the table's begin.
struct AliasCell {
  double keep;
  uint32_t other;

  size_t Resolve(size_t column, Random* random) const {
    return random->Real() < keep ? column : other;
  }
};

// Fills one cell per weight; their sum is `total`, above 0. The weight of position i is the double
// that lies i * stride bytes behind `weights`.
void FillAliasCells(const double* weights, size_t stride, double total, std::span<AliasCell> cells);

class AliasTable {
 public:
  AliasTable() = default;
  // Weights from 0 to kMaxWeight, fewer than 2^32. A table whose total is 0 must not be drawn from.
  explicit AliasTable(std::span<const double> weights);
  // The same of `count` weights that lie `stride` bytes apart, as in records, and whose sum is known. The memory
  // outlives the table.
  AliasTable(const double* weights, size_t count, size_t stride, double total,
             std::pmr::memory_resource* memory);

  double total() const { return total_; }
  size_t bytes() const { return count_ * sizeof(AliasCell); }

  // A draw in two steps, so that a caller can begin many and let memory catch up.
  size_t Begin(Random* random) const {
    const size_t column = random->Below(count_);
    __builtin_prefetch(&cells_[column]);
    return column;
  }
  size_t Finish(size_t column, Random* random) const {
    return cells_[column].Resolve(column, random);
  }
  size_t Draw(Random* random) const { return Finish(random->Below(count_), random); }

  // How likely each position is, summed over the cells: for tests. They sum to 1.
  std::vector<double> Probabilities() const;

 private:
  struct Release {
    std::pmr::memory_resource* memory;
    size_t bytes;
    void operator()(AliasCell* cells) const {
      memory->deallocate(cells, bytes, alignof(AliasCell));
    }
  };
  std::unique_ptr<AliasCell[], Release> cells_;
  size_t count_ = 0;
  double total_ = 0;
};

}  // namespace sampling
