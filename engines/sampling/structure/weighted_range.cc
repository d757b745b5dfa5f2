#include <algorithm>

#include "sampling/alias_table.h"
#include "sampling/structure.h"
#include "structure/give_way.h"
#include "structure/key_range.h"

namespace sampling {
namespace {

constexpr size_t kFanout = 16;

// An implicit tree. The units of level 0 are entries; a unit above stands for kFanout neighbours
// below it, and draws one of them from an alias table of its own.
struct Tree {
  struct Level {
    std::vector<double> sums;      // of each unit
    std::vector<AliasCell> cells;  // of each unit among its siblings, positions within the siblings
  };
  std::vector<Level> levels;  // the last one has one unit

  // An entry below the unit.
  size_t Descend(size_t level, size_t unit, Random* random) const {
    for (; level > 0; --level) {
      const Level& below = levels[level - 1];
      const size_t begin = unit * kFanout;
      const size_t column = random->Below(std::min(kFanout, below.sums.size() - begin));
      unit = begin + below.cells[begin + column].Resolve(column, random);
    }
    return unit;
  }
};

struct Unit {
  size_t level;
  size_t unit;
};

// The fewest units that stand for the entries from `begin` to `end`: O(kFanout * log n).
std::vector<Unit> Cover(const Tree& tree, size_t begin, size_t end) {
  std::vector<Unit> units;
  for (size_t level = 0; begin < end; ++level) {
    const size_t count = tree.levels[level].sums.size();
    if (count == 1) {
      units.push_back({level, 0});
      break;
    }
    while (begin < end && begin % kFanout != 0) units.push_back({level, begin++});
    // The last siblings may be fewer; their parent stands for just them.
    while (begin < end && end % kFanout != 0 && end != count) units.push_back({level, --end});
    begin = (begin + kFanout - 1) / kFanout;
    end = (end + kFanout - 1) / kFanout;
  }
  return units;
}

class Cut final : public Selection {
 public:
  Cut(const Tree& tree, std::vector<Unit> units) : tree_(tree), units_(std::move(units)) {
    std::vector<double> sums;
    sums.reserve(units_.size());
    for (const Unit& at : units_) sums.push_back(tree.levels[at.level].sums[at.unit]);
    table_ = AliasTable(sums);
  }
  double mass() const override { return table_.total(); }
  size_t Begin(Random* random) const override { return table_.Draw(random); }
  size_t Finish(size_t begun, Random* random) const override {
    return tree_.Descend(units_[begun].level, units_[begun].unit, random);
  }

 private:
  const Tree& tree_;
  std::vector<Unit> units_;
  AliasTable table_;
};

class WeightedRange final : public Structure {
 public:
  explicit WeightedRange(std::span<const Entry> entries) : entries_(entries) {
    std::vector<double> sums;
    sums.reserve(entries.size());
    for (const Entry& entry : entries) {
      GiveWay(sums.size());
      sums.push_back(entry.weight);
    }
    while (true) {
      tree_.levels.push_back({std::move(sums), {}});
      if (tree_.levels.back().sums.size() <= 1) break;
      sums = Summarise(&tree_.levels.back());
    }
  }
  std::unique_ptr<Selection> Select(uint64_t first, uint64_t last) const override {
    const auto [begin, end] = PositionsOf(entries_, first, last);
    return std::make_unique<Cut>(tree_, Cover(tree_, begin, end));
  }
  size_t bytes() const override {
    size_t bytes = 0;
    for (const Tree::Level& level : tree_.levels) {
      bytes += level.sums.capacity() * sizeof(double) + level.cells.capacity() * sizeof(AliasCell);
    }
    return bytes;
  }

 private:
  // Makes the level's alias tables; returns the sums of the level above.
  static std::vector<double> Summarise(Tree::Level* level) {
    const std::span<const double> sums = level->sums;
    level->cells.resize(sums.size());
    std::vector<double> above;
    above.reserve((sums.size() + kFanout - 1) / kFanout);
    for (size_t at = 0; at < sums.size(); at += kFanout) {
      GiveWay(above.size());
      const std::span<const double> siblings =
          sums.subspan(at, std::min(kFanout, sums.size() - at));
      double total = 0;
      for (const double sum : siblings) total += sum;
      const std::span<AliasCell> cells = std::span(level->cells).subspan(at, siblings.size());
      if (total > 0) FillAliasCells(siblings.data(), sizeof(double), total, cells);
      above.push_back(total);
    }
    return above;
  }

  std::span<const Entry> entries_;
  Tree tree_;
};

std::unique_ptr<Structure> Build(std::span<const Entry> entries, double,
                                 std::pmr::memory_resource*) {
  return std::make_unique<WeightedRange>(entries);
}

}  // namespace

const Kind kWeightedRange = {"weighted-range", true, Build};

}  // namespace sampling
