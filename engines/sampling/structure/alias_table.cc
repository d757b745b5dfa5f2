#include "sampling/alias_table.h"

#include <cassert>

namespace sampling {

void FillAliasCells(std::span<const double> weights, double total, std::span<AliasCell> cells) {
  const size_t count = weights.size();
  const auto columns = static_cast<double>(count);
  // What a position weighs in columns. The quotient comes first: it cannot overflow.
  const auto scaled = [&](size_t i) { return weights[i] / total * columns; };
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

AliasTable::AliasTable(std::span<const double> weights) : cells_(weights.size()) {
  for (const double weight : weights) total_ += weight;
  if (total_ > 0) FillAliasCells(weights, total_, cells_);
}

std::vector<double> AliasTable::Probabilities() const {
  std::vector<double> probabilities(cells_.size(), 0);
  const auto columns = static_cast<double>(cells_.size());
  for (size_t i = 0; i < cells_.size(); ++i) {
    probabilities[i] += cells_[i].keep / columns;
    probabilities[cells_[i].other] += (1 - cells_[i].keep) / columns;
  }
  return probabilities;
}

}  // namespace sampling
