#include "index/merge.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "index/filter.h"

namespace sampling {
namespace {

Entry R(uint64_t key, uint64_t value = 0, uint64_t deleted = Entry::kNever) {
  return {Record{key, value, 1}, deleted};
}
Entry T(uint64_t key, uint64_t value = 0) { return {Record{key, value, 0}, Entry::kTombstone}; }

// "R1.0 T2.0": the entries of a merge, the oldest run first.
std::string Merged(const std::vector<std::vector<Entry>>& runs, bool oldest, uint64_t time = 100) {
  Runs spans;
  for (const auto& run : runs) spans.push_back(std::make_unique<MemoryRun>(run));
  std::string text;
  const Status status = Merge(std::move(spans), time, oldest, [&](const Entry& entry) {
    text += (text.empty() ? "" : " ") + std::string(entry.tombstone() ? "T" : "R") +
            std::to_string(entry.key) + "." + std::to_string(entry.value);
    return true;
  });
  EXPECT_TRUE(status.ok()) << status.ToString();
  return text;
}

TEST(Merge, SortsByKeyAndValue) {
  EXPECT_EQ(Merged({{R(1), R(3)}, {R(2), R(3, 1)}, {R(0)}}, true), "R0.0 R1.0 R2.0 R3.0 R3.1");
}

TEST(Merge, ARecordAndItsTombstoneBothGo) {
  EXPECT_EQ(Merged({{R(1), R(2)}, {T(1)}}, false), "R2.0");
  EXPECT_EQ(Merged({{R(1), T(1)}}, false), "");
}

TEST(Merge, ATombstoneStaysUntilNothingOlderIsLeft) {
  EXPECT_EQ(Merged({{T(1)}, {T(2)}}, false), "T1.0 T2.0");
  EXPECT_EQ(Merged({{T(1)}, {T(2)}}, true), "");
}

TEST(Merge, AnInsertAfterADeleteKeepsBoth) {
  EXPECT_EQ(Merged({{T(1)}, {R(1)}}, false), "T1.0 R1.0");
  EXPECT_EQ(Merged({{T(1)}, {R(1)}}, true), "R1.0");
  EXPECT_EQ(Merged({{R(1)}, {T(1)}, {R(1)}}, false), "R1.0");
  EXPECT_EQ(Merged({{T(1), R(1)}, {T(1)}}, false), "T1.0");
}

TEST(Merge, TaggedRecordsGoOnceTheirTimeHasCome) {
  EXPECT_EQ(Merged({{R(1, 0, 100), R(2, 0, 101)}}, false, 100), "R2.0");
}

TEST(Buffer, FindsTheNewestOfAPairAmongThoseSeen) {
  Buffer buffer(4, kWeightedSet);
  buffer.Append(R(1));
  buffer.Append(T(1));
  buffer.Append(R(1));
  EXPECT_EQ(buffer.Newest(1, 0, 3), 2u);
  EXPECT_EQ(buffer.Newest(1, 0, 2), 1u);
  EXPECT_EQ(buffer.Newest(1, 0, 0), Buffer::kNone);
  EXPECT_EQ(buffer.Newest(1, 1, 3), Buffer::kNone);
}

TEST(Buffer, ASlotWithoutWeightIsNeverReached) {
  Buffer buffer(4, kWeightedSet);
  buffer.Append(T(1));
  buffer.Append(R(2));
  buffer.Append(T(3));
  EXPECT_EQ(buffer.Mass(3), 1);
  EXPECT_EQ(buffer.SlotAt(0, 3), 1u);
  EXPECT_EQ(buffer.SlotAt(0.999, 3), 1u);
  EXPECT_EQ(buffer.SlotAt(1, 3), 3u);
}

TEST(Filter, HoldsItsPairsAndItsRate) {
  for (const double rate : {0.001, 0.01, 0.1, 0.5, 0.75, 0.9}) {
    constexpr size_t kPairs = 10000;
    Filter filter(kPairs, rate);
    for (uint64_t i = 0; i < kPairs; ++i) filter.Add(Probes(i, 7));
    size_t positives = 0;
    for (uint64_t i = 0; i < kPairs; ++i) {
      ASSERT_TRUE(filter.MayContain(Probes(i, 7)));
      positives += filter.MayContain(Probes(i, 8));
    }
    // Within a quarter: probes are whole numbers, and a sample varies.
    EXPECT_NEAR(static_cast<double>(positives) / kPairs, rate, rate / 4 + 0.001) << rate;
  }
}

TEST(Filter, WithoutBitsAdmitsEverything) {
  EXPECT_TRUE(Filter(10, 1).MayContain(Probes(1, 1)));
  EXPECT_EQ(Filter(10, 1).bytes(), 0u);
}

}  // namespace
}  // namespace sampling
