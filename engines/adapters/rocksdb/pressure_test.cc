// RocksDB's rules, case by case: which cause comes first, and how many jobs may run.
#include "pressure.h"

#include <gtest/gtest.h>

namespace kvdyno::rocks {

namespace {

constexpr Limits kLimits = {.write_buffers = 4,
                            .write_buffers_to_merge = 1,
                            .level0_compaction = 4,
                            .level0_slowdown = 20,
                            .level0_stop = 36,
                            .soft_pending_bytes = 1000,
                            .hard_pending_bytes = 4000,
                            .background_jobs = 8};
constexpr Levels kAll = {.immutable_memtables = 4, .level0_files = 36, .pending_bytes = 4000};

TEST(CauseOf, FollowsRocksDbsOrderInAStop) {
  Levels levels = kAll;
  EXPECT_EQ(CauseOf(Stall::kStop, levels, kLimits), Cause::kMemtable);
  levels.immutable_memtables = 3;
  EXPECT_EQ(CauseOf(Stall::kStop, levels, kLimits), Cause::kLevel0);
  levels.level0_files = 35;
  EXPECT_EQ(CauseOf(Stall::kStop, levels, kLimits), Cause::kPending);
  levels.pending_bytes = 3999;
  EXPECT_EQ(CauseOf(Stall::kStop, levels, kLimits), Cause::kOther) << "a delay is no stop";
}

TEST(CauseOf, FollowsRocksDbsOrderInADelay) {
  Levels levels = {.immutable_memtables = 3, .level0_files = 20, .pending_bytes = 1000};
  EXPECT_EQ(CauseOf(Stall::kDelay, levels, kLimits), Cause::kMemtable);
  levels.immutable_memtables = 2;
  EXPECT_EQ(CauseOf(Stall::kDelay, levels, kLimits), Cause::kLevel0);
  levels.level0_files = 19;
  EXPECT_EQ(CauseOf(Stall::kDelay, levels, kLimits), Cause::kPending);
  levels.pending_bytes = 999;
  EXPECT_EQ(CauseOf(Stall::kDelay, levels, kLimits), Cause::kOther);
}

TEST(CauseOf, FewMemtablesStopWithoutADelayBefore) {
  Limits limits = kLimits;
  limits.write_buffers = 3;
  const Levels levels = {.immutable_memtables = 2};
  EXPECT_EQ(CauseOf(Stall::kDelay, levels, limits), Cause::kOther);
  limits = kLimits;
  limits.write_buffers_to_merge = 3;
  EXPECT_EQ(CauseOf(Stall::kDelay, {.immutable_memtables = 3}, limits), Cause::kOther)
      << "a flush would wait for as many";
}

TEST(CauseOf, ALimitOfZeroIsNone) {
  Limits limits = kLimits;
  limits.level0_stop = limits.hard_pending_bytes = 0;
  limits.level0_slowdown = limits.soft_pending_bytes = 0;
  const Levels levels = {.level0_files = 100, .pending_bytes = 1 << 30};
  EXPECT_EQ(CauseOf(Stall::kStop, levels, limits), Cause::kOther);
  EXPECT_EQ(CauseOf(Stall::kDelay, levels, limits), Cause::kOther);
}

TEST(Limits, WithoutCompactionsOnlyMemtablesStall) {
  rocksdb::Options options;
  EXPECT_EQ(Limits::Of(options).level0_stop, 36u);
  EXPECT_EQ(Limits::Of(options).hard_pending_bytes, 256ull << 30);
  EXPECT_EQ(Limits::Of(options).background_flushes, 0u) << "-1: not set";
  options.disable_auto_compactions = true;
  EXPECT_EQ(Limits::Of(options).level0_stop, 0u);
  EXPECT_EQ(Limits::Of(options).hard_pending_bytes, 0u);
  EXPECT_EQ(Limits::Of(options).write_buffers, 2u);
}

TEST(SlotsOf, OneCompactionUnlessSomethingPresses) {
  EXPECT_EQ(SlotsOf(Stall::kNone, {}, kLimits).flushes, 2u);
  EXPECT_EQ(SlotsOf(Stall::kNone, {}, kLimits).compactions, 1u);
  EXPECT_EQ(SlotsOf(Stall::kNone, {.level0_files = 7}, kLimits).compactions, 1u);
  EXPECT_EQ(SlotsOf(Stall::kNone, {.level0_files = 8}, kLimits).compactions, 6u);
  EXPECT_EQ(SlotsOf(Stall::kNone, {.pending_bytes = 249}, kLimits).compactions, 1u);
  EXPECT_EQ(SlotsOf(Stall::kNone, {.pending_bytes = 250}, kLimits).compactions, 6u);
  EXPECT_EQ(SlotsOf(Stall::kDelay, {}, kLimits).compactions, 6u);
}

TEST(SlotsOf, ThereIsAlwaysOneOfEach) {
  Limits limits = kLimits;
  limits.background_jobs = 1;
  const Slots slots = SlotsOf(Stall::kStop, {}, limits);
  EXPECT_EQ(slots.flushes, 1u);
  EXPECT_EQ(slots.compactions, 1u);
}

TEST(SlotsOf, TheOptionsOfOldDecideWhereTheyAreSet) {
  Limits limits = kLimits;
  limits.background_compactions = 5;
  EXPECT_EQ(SlotsOf(Stall::kStop, {}, limits).flushes, 1u);
  EXPECT_EQ(SlotsOf(Stall::kStop, {}, limits).compactions, 5u);
}

}  // namespace

}  // namespace kvdyno::rocks
