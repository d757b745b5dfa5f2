#include <algorithm>
#include <array>
#include <vector>

#include "sampling/alias_table.h"
#include "sampling/structure.h"
#include "structure/give_way.h"
#include "structure/seeded_bugs.h"

namespace sampling {
namespace {

// Neighbours that one cell of the alias table stands for. A draw reads their weights in the two cache lines that hold
// the entry anyway or follow it, and a merge fills a cell for four of them.
constexpr size_t kTogether = 4;

double WeightOf(std::span<const Entry> entries, size_t position) {
  if (Seeded(Bug::kWeightsShifted)) {
    if (entries[position].tombstone() && position + 1 < entries.size())
      return entries[position + 1].weight;
    if (position > 0 && entries[position - 1].tombstone()) return 0;
  }
  return entries[position].weight;
}

AliasTable TableOf(std::span<const Entry> entries, double mass, std::pmr::memory_resource* memory) {
  if (entries.empty()) return {};
  std::pmr::vector<double> sums(memory);
  sums.reserve((entries.size() + kTogether - 1) / kTogether);
  for (size_t begin = 0; begin < entries.size(); begin += kTogether) {
    GiveWay(sums.size());
    const size_t end = std::min(begin + kTogether, entries.size());
    double sum = 0;
    for (size_t i = begin; i < end; ++i) sum += WeightOf(entries, i);
    sums.push_back(sum);
  }
  return {sums.data(), sums.size(), sizeof(double), mass, memory};
}

class WholeTable final : public Selection {
 public:
  WholeTable(std::span<const Entry> entries, const AliasTable& table)
      : entries_(entries), table_(table) {}
  double mass() const override {
    if (Seeded(Bug::kIntegerTotal)) return static_cast<double>(static_cast<int>(table_.total()));
    return table_.total();
  }
  size_t Begin(Random* random) const override { return table_.Begin(random) * kTogether; }
  size_t Approach(size_t begun, Random* random) const override {
    const size_t begin = table_.Finish(begun / kTogether, random) * kTogether;
    __builtin_prefetch(&entries_[begin]);
    __builtin_prefetch(&entries_[std::min(begin + kTogether, entries_.size()) - 1]);
    return begin;
  }
  size_t Finish(size_t begin, Random* random) const override {
    const size_t count = std::min(kTogether, entries_.size() - begin);
    std::array<double, kTogether> sums;
    double sum = 0;
    for (size_t i = 0; i < count; ++i) {
      sum += WeightOf(entries_, begin + i);
      sums[i] = sum;
    }
    while (true) {  // a product that rounds up to the sum lies behind the last entry
      const double at = random->Real() * sum;
      if (!(at < sum)) continue;
      size_t before = 0;  // counted, since a branch would be guessed wrongly
      for (size_t i = 0; i + 1 < count; ++i) before += at >= sums[i];
      return begin + before;
    }
  }

 private:
  const std::span<const Entry> entries_;
  const AliasTable& table_;
};

class WeightedSet final : public Structure {
 public:
  WeightedSet(std::span<const Entry> entries, double mass, std::pmr::memory_resource* memory)
      : entries_(entries), table_(TableOf(entries, mass, memory)) {}
  std::unique_ptr<Selection> Select(uint64_t, uint64_t) const override {
    return std::make_unique<WholeTable>(entries_, table_);
  }
  size_t bytes() const override { return table_.bytes(); }

 private:
  const std::span<const Entry> entries_;
  const AliasTable table_;
};

std::unique_ptr<Structure> Build(std::span<const Entry> entries, double mass,
                                 std::pmr::memory_resource* memory) {
  return std::make_unique<WeightedSet>(entries, mass, memory);
}

}  // namespace

const Kind kWeightedSet = {"weighted-set", true, Build};

}  // namespace sampling
