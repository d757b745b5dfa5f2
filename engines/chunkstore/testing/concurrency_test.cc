// Snapshots and linearizability under concurrency, 10^6 operations each.
#include "testing/linearizable.h"
#include "testing/scale.h"

namespace chunkstore::testing {
namespace {

CheckOptions Concurrent(uint64_t count, int background_threads) {
  CheckOptions options = Checks(count);
  options.seed += static_cast<uint64_t>(background_threads) * 1'000'000;
  options.threads = 4;
  options.background_threads = background_threads;
  return options;
}

class Concurrency : public ::testing::TestWithParam<int> {};
TEST_P(Concurrency, ReadersSeeCuts) {
  ExpectClean(CheckSnapshots(Concurrent(500'000, GetParam())));
}
TEST_P(Concurrency, KeysAreLinearizable) {
  ExpectClean(CheckLinearizable(Concurrent(500'000, GetParam())));
}
INSTANTIATE_TEST_SUITE_P(BackgroundThreads, Concurrency, ::testing::Values(1, 2));

// The judge itself: histories that are right, and histories that are not.
ValueId Value(uint64_t number) { return MakeId(number, 8); }
Event Write(uint64_t invoke, uint64_t response, ValueId id) { return {invoke, response, id, true}; }
Event Read(uint64_t invoke, uint64_t response, ValueId id) { return {invoke, response, id, false}; }

TEST(JudgeRegister, AcceptsLinearizableHistories) {
  EXPECT_EQ(JudgeRegister({}), "");
  EXPECT_EQ(JudgeRegister({Read(1, 2, kAbsent)}), "");
  EXPECT_EQ(JudgeRegister({Write(1, 2, Value(1)), Read(3, 4, Value(1))}), "");
  // A read during a write may see either.
  EXPECT_EQ(JudgeRegister({Write(1, 2, Value(1)), Write(3, 9, Value(2)), Read(4, 5, Value(1)),
                           Read(6, 7, Value(2))}),
            "");
  EXPECT_EQ(JudgeRegister({Write(1, 2, Value(1)), Write(3, 9, kAbsent), Read(4, 5, Value(1)),
                           Read(6, 7, kAbsent)}),
            "");
}

TEST(JudgeRegister, RejectsOthers) {
  EXPECT_NE(JudgeRegister({Read(1, 2, Value(1))}), "");  // out of thin air
  EXPECT_NE(JudgeRegister({Read(1, 2, Value(1)), Write(3, 4, Value(1))}), "");
  EXPECT_NE(JudgeRegister({Write(1, 2, Value(1)), Write(3, 4, Value(2)), Read(5, 6, Value(1))}),
            "");
  // New, then old.
  EXPECT_NE(JudgeRegister({Write(1, 2, Value(1)), Write(3, 9, Value(2)), Read(4, 5, Value(2)),
                           Read(6, 7, Value(1))}),
            "");
  EXPECT_NE(JudgeRegister({Write(1, 2, Value(1)), Read(3, 4, kAbsent)}), "");
  EXPECT_NE(JudgeRegister({Write(1, 2, Value(1)), Write(3, 4, kAbsent), Read(5, 6, Value(1))}), "");
  EXPECT_NE(JudgeRegister({Write(1, 2, kAbsent), Write(3, 4, Value(1)), Read(5, 6, kAbsent)}), "");
  EXPECT_NE(JudgeRegister({Write(1, 2, Value(1)), Read(3, 4, kAbsent), Read(5, 6, Value(1)),
                           Write(3, 4, kAbsent)}),
            "");
}

}  // namespace
}  // namespace chunkstore::testing
