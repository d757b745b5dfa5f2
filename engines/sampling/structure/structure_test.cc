#include "sampling/structure.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "kvdyno/base/testing/chi_square.h"
#include "sampling/alias_table.h"

namespace sampling {
namespace {

constexpr double kFits = 4.5;

void ExpectExact(const std::vector<double>& weights) {
  const AliasTable table(weights);
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  const std::vector<double> found = table.Probabilities();
  for (size_t i = 0; i < weights.size(); ++i) {
    const double expected = weights[i] / total;
    // Rounding moves at most this much of a column from one position to another.
    ASSERT_NEAR(found[i], expected, 1e-9 * expected + 1e-14 / static_cast<double>(weights.size()))
        << "position " << i;
    if (weights[i] == 0) {
      ASSERT_EQ(found[i], 0) << "position " << i;
    }
  }
}

TEST(AliasTable, HoldsEachWeightsShare) {
  ExpectExact({1});
  ExpectExact({1, 1, 1, 1});
  ExpectExact({0, 3, 0, 1, 0});
  ExpectExact({1e-300, 1e290, 1, 0});
  ExpectExact(
      {std::numeric_limits<double>::denorm_min(), 0, std::numeric_limits<double>::denorm_min()});
  Random random(1);
  std::vector<double> uniform, heavy, giant;
  for (int i = 0; i < 20000; ++i) {
    uniform.push_back(random.Real());
    heavy.push_back(i % 9 == 0 ? 0 : std::pow(1 - random.Real(), -1 / 1.2));
    giant.push_back(i == 777 ? 1e12 : 1);
  }
  ExpectExact(uniform);
  ExpectExact(heavy);
  ExpectExact(giant);
}

TEST(AliasTable, WithoutWeightHasNoTotal) {
  EXPECT_EQ(AliasTable(std::vector<double>{}).total(), 0);
  EXPECT_EQ(AliasTable(std::vector<double>{0, 0}).total(), 0);
}

std::vector<Entry> Entries(size_t count, bool weighted) {
  std::vector<Entry> entries;
  for (size_t i = 0; i < count; ++i) {
    const double weight = weighted ? static_cast<double>(i * i % 11) : 1;
    entries.emplace_back(Record{i / 2 * 10, i % 2, weight}, Entry::kNever);
  }
  return entries;
}

std::unique_ptr<Structure> Built(const Kind& kind, const std::vector<Entry>& entries) {
  double mass = 0;
  for (const Entry& entry : entries) mass += kind.Counts(entry);
  return kind.build(entries, mass, std::pmr::get_default_resource());
}

TEST(Structures, ARangeIsDrawnByWeightWhereverItBeginsAndEnds) {
  Random random(2);
  for (const Kind* kind : {&kUniformRange, &kWeightedRange}) {
    for (const size_t count : {1u, 15u, 16u, 17u, 255u, 256u, 300u, 4100u}) {
      const std::vector<Entry> entries = Entries(count, kind->weighted);
      const std::unique_ptr<Structure> structure = Built(*kind, entries);
      for (int trial = 0; trial < 6; ++trial) {
        const uint64_t last_key = entries.back().key;
        uint64_t first = trial == 0 ? 0 : random.Below(last_key + 10);
        uint64_t last = trial == 0 ? UINT64_MAX : random.Below(last_key + 10);
        if (first > last) std::swap(first, last);
        SCOPED_TRACE(std::string(kind->name) + " " + std::to_string(count) + " entries, keys " +
                     std::to_string(first) + " to " + std::to_string(last));
        std::vector<double> expected;
        double total = 0;
        for (const Entry& entry : entries) {
          const bool inside = entry.key >= first && entry.key <= last;
          expected.push_back(inside ? kind->Counts(entry) : 0);
          total += expected.back();
        }
        const std::unique_ptr<Selection> selection = structure->Select(first, last);
        ASSERT_DOUBLE_EQ(selection->mass(), total);
        if (total == 0) continue;
        for (double& share : expected) share /= total;
        std::vector<uint64_t> observed(count, 0);
        for (int i = 0; i < 20000; ++i) ++observed[selection->Draw(&random)];
        EXPECT_LT(kvdyno::ChiSquareDeviation(observed, expected), kFits);
      }
    }
  }
}

TEST(Structures, AWeightedSetIsDrawnByWeight) {
  Random random(3);
  for (const size_t count : {1u, 3u, 4u, 5u, 8u, 300u, 4100u}) {
    SCOPED_TRACE(std::to_string(count) + " entries");
    std::vector<Entry> entries = Entries(count, true);
    entries.front().weight = 7;
    double total = 0;
    for (const Entry& entry : entries) total += entry.weight;
    std::vector<double> expected;
    for (const Entry& entry : entries) expected.push_back(entry.weight / total);
    const std::unique_ptr<Structure> structure = Built(kWeightedSet, entries);
    const std::unique_ptr<Selection> selection = structure->Select(0, UINT64_MAX);
    std::vector<uint64_t> observed(count, 0);
    for (int i = 0; i < 100000; ++i) ++observed[selection->Draw(&random)];
    EXPECT_LT(kvdyno::ChiSquareDeviation(observed, expected), kFits);
  }
}

TEST(Structures, AWeightedSetIgnoresRanges) {
  const std::vector<Entry> entries = Entries(30, true);
  const std::unique_ptr<Structure> structure = Built(kWeightedSet, entries);
  EXPECT_EQ(structure->Select(1, 2)->mass(), structure->Select(0, UINT64_MAX)->mass());
}

TEST(Structures, OfTombstonesAloneWeighNothing) {
  const std::vector<Entry> entries = {{Record{1, 1, 0}, Entry::kTombstone}};
  EXPECT_EQ(Built(kWeightedSet, entries)->Select(0, 9)->mass(), 0);
  EXPECT_EQ(Built(kWeightedRange, entries)->Select(0, 9)->mass(), 0);
}

}  // namespace
}  // namespace sampling
