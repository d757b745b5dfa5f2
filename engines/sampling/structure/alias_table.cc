#include "sampling/alias_table.h"

#include <cassert>
#include <numeric>

#include "structure/give_way.h"
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
  const auto next_heavy = [&](size_t i) {
    while (i < count && !(scaled(i) > 1)) ++i;
    return i;
  };

  // Light positions in their order take what they lack from the heavy ones in theirs. A heavy position that has less
  // than a column left takes what it lacks from the next one.
  size_t heavy = next_heavy(0);
  double rest = heavy < count ? scaled(heavy) : 0;  // of the heavy position's weight
  size_t light = 0;
  for (; light < count && heavy < count; ++light) {
    GiveWay(light);
    const double own = scaled(light);
    if (own > 1) continue;
    cells[light] = {own, static_cast<uint32_t>(heavy)};
    rest -= 1 - own;
    while (!(rest > 1) && heavy < count) {
      const size_t after = next_heavy(heavy + 1);
      const bool last = after == count;  // which fills its column but for rounding
      cells[heavy] = {last ? 1 : rest, static_cast<uint32_t>(last ? heavy : after)};
      if (!last) rest = scaled(after) - (1 - rest);
      heavy = after;
    }
  }
  // What is left fills its columns but for rounding.
  for (; heavy < count; heavy = next_heavy(heavy + 1)) {
    cells[heavy] = {1, static_cast<uint32_t>(heavy)};
  }
  for (; light < count; ++light) {
    if (scaled(light) > 1) continue;
    assert(scaled(light) > 0.5);
    cells[light] = {1, static_cast<uint32_t>(light)};
  }
}

AliasTable::AliasTable(std::span<const double> weights)
    : AliasTable(weights.data(), weights.size(), sizeof(double),
                 std::accumulate(weights.begin(), weights.end(), 0.0),
                 std::pmr::get_default_resource()) {}

AliasTable::AliasTable(const double* weights, size_t count, size_t stride, double total,
                       std::pmr::memory_resource* memory)
    : count_(count), total_(total) {
  cells_ = {static_cast<AliasCell*>(memory->allocate(bytes(), alignof(AliasCell))),
            Release{memory, bytes()}};
  AskForHugePages(cells_.get(), bytes());
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
