#include "sampling/alias_table.h"

#include <cassert>

#include "structure/large.h"

namespace sampling {

namespace {

const double& WeightAt(const double* weights, size_t stride, size_t position) {
  return *reinterpret_cast<const double*>(reinterpret_cast<const char*>(weights) +
                                          position * stride);
}

}  // namespace

void FillAliasCells(const double* weights, size_t stride, double total,
                    std::span<AliasCell> cells) {
  const size_t count = cells.size();
  // What a position weighs in columns. Tiny weights are made larger first: the factor cannot overflow.
  const double larger = total < 1e-200 ? 0x1p600 : 1;
  const double factor = static_cast<double>(count) / (total * larger);
  const auto scaled = [&](size_t i) { return WeightAt(weights, stride, i) * larger * factor; };
  const auto next = [&](size_t i, bool heavy) {
    while (i < count && (scaled(i) > 1) != heavy) ++i;
    return i;
  };

  size_t light = next(0, false);
  size_t heavy = next(0, true);
  if (heavy < count) {
    double rest = scaled(heavy);  // of the heavy position's weight
    while (true) {
      if (rest > 1) {
        if (light == count) break;
        const double own = scaled(light);
        cells[light] = {own, static_cast<uint32_t>(heavy)};
        rest -= 1 - own;
        light = next(light + 1, false);
      } else {
        const size_t after = next(heavy + 1, true);
        if (after == count) break;
        cells[heavy] = {rest, static_cast<uint32_t>(after)};
        rest = scaled(after) - (1 - rest);
        heavy = after;
      }
    }
  }
  // What is left fills its columns but for rounding.
  for (; heavy < count; heavy = next(heavy + 1, true)) {
    cells[heavy] = {1, static_cast<uint32_t>(heavy)};
  }
  for (; light < count; light = next(light + 1, false)) {
    assert(scaled(light) > 0.5);
    cells[light] = {1, static_cast<uint32_t>(light)};
  }
}

AliasTable::AliasTable(const double* weights, size_t count, size_t stride)
    : cells_(std::make_unique_for_overwrite<AliasCell[]>(count)), count_(count) {
  AskForHugePages(cells_.get(), bytes());
  for (size_t i = 0; i < count; ++i) total_ += WeightAt(weights, stride, i);
  if (total_ > 0) FillAliasCells(weights, stride, total_, {cells_.get(), count});
}

std::vector<double> AliasTable::Probabilities() const {
  std::vector<double> probabilities(count_, 0);
  const auto columns = static_cast<double>(count_);
  for (size_t i = 0; i < count_; ++i) {
    probabilities[i] += cells_[i].keep / columns;
    probabilities[cells_[i].other] += (1 - cells_[i].keep) / columns;
  }
  return probabilities;
}

}  // namespace sampling
