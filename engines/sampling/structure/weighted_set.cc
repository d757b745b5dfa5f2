#include "sampling/alias_table.h"
#include "sampling/structure.h"
#include "structure/seeded_bugs.h"

namespace sampling {
namespace {

AliasTable TableOf(std::span<const Entry> entries, double mass, std::pmr::memory_resource* memory) {
  if (Seeded(Bug::kWeightsShifted)) {  // only where a tombstone lies among the records
    std::vector<double> weights(entries.size());
    for (size_t i = 0; i < entries.size(); ++i) {
      weights[i] = entries[i].weight;
      if (i > 0 && entries[i - 1].tombstone()) std::swap(weights[i - 1], weights[i]);
    }
    return AliasTable(weights);
  }
  if (entries.empty()) return {};
  return {&entries.front().weight, entries.size(), sizeof(Entry), mass, memory};
}

class WholeTable final : public Selection {
 public:
  explicit WholeTable(const AliasTable& table) : table_(table) {}
  double mass() const override {
    if (Seeded(Bug::kIntegerTotal)) return static_cast<double>(static_cast<int>(table_.total()));
    return table_.total();
  }
  size_t Begin(Random* random) const override { return table_.Begin(random); }
  size_t Finish(size_t begun, Random* random) const override {
    return table_.Finish(begun, random);
  }

 private:
  const AliasTable& table_;
};

class WeightedSet final : public Structure {
 public:
  WeightedSet(std::span<const Entry> entries, double mass, std::pmr::memory_resource* memory)
      : table_(TableOf(entries, mass, memory)) {}
  std::unique_ptr<Selection> Select(uint64_t, uint64_t) const override {
    return std::make_unique<WholeTable>(table_);
  }
  size_t bytes() const override { return table_.bytes(); }

 private:
  AliasTable table_;
};

std::unique_ptr<Structure> Build(std::span<const Entry> entries, double mass,
                                 std::pmr::memory_resource* memory) {
  return std::make_unique<WeightedSet>(entries, mass, memory);
}

}  // namespace

const Kind kWeightedSet = {"weighted-set", true, Build};

}  // namespace sampling
