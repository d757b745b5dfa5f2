// ADOC's rules against hand-made windows: each overflow, several at once, steps, bounds, no-ops.
#include "kvdyno/tuners/adoc.h"

#include <gtest/gtest.h>

#include <vector>

namespace kvdyno::tuners {

namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kGiB = uint64_t{1} << 30;

// The paper's.
constexpr AdocLimits kLimits = {.level0_slowdown_files = 20,
                                .soft_pending_bytes = 64 * kGiB,
                                .threads_min = 2,
                                .threads_max = 20,
                                .batch_min = 64 * kMiB,
                                .batch_max = 512 * kMiB,
                                .batch_step = 64 * kMiB};

constexpr AdocKnobs kMiddle = {.threads = 8, .batch = 256 * kMiB};

constexpr AdocWindow kMemory = {.early_fills = 1, .immutable_memtables = 1};
constexpr AdocWindow kLevel0 = {.level0_files = 20};
constexpr AdocWindow kRedundancy = {.pending_bytes = 64 * kGiB};

AdocDecision Decided(AdocMode mode, const AdocWindow& window, const AdocKnobs& knobs = kMiddle) {
  return AdocCore(mode, kLimits).Decide(window, knobs);
}

void ExpectKept(const AdocDecision& decision, const AdocKnobs& knobs) {
  EXPECT_EQ(decision.knobs, knobs);
  EXPECT_EQ(decision.threads, AdocReason::kNone);
  EXPECT_EQ(decision.batch, AdocReason::kNone);
  EXPECT_EQ(decision.delayed_write, AdocReason::kNone);
}

TEST(AdocPaper, QuietWindowsChangeNothing) {
  ExpectKept(Decided(AdocMode::kPaper, {}), kMiddle);
  ExpectKept(Decided(AdocMode::kPaper,
                     {.immutable_memtables = 1, .level0_files = 19, .pending_bytes = 63 * kGiB}),
             kMiddle);
}

TEST(AdocPaper, MemoryOverflowHalvesThreadsAndGrowsTheBatch) {
  const AdocDecision decision = Decided(AdocMode::kPaper, kMemory);
  EXPECT_EQ(decision.knobs, (AdocKnobs{.threads = 4, .batch = 320 * kMiB}));
  EXPECT_EQ(decision.threads, AdocReason::kMemory);
  EXPECT_EQ(decision.batch, AdocReason::kMemory);
}

TEST(AdocPaper, Level0OverflowAddsThreadsAndKeepsTheBatch) {
  const AdocDecision decision = Decided(AdocMode::kPaper, kLevel0);
  EXPECT_EQ(decision.knobs, (AdocKnobs{.threads = 10, .batch = 256 * kMiB}));
  EXPECT_EQ(decision.threads, AdocReason::kLevel0);
  EXPECT_EQ(decision.batch, AdocReason::kNone);
}

TEST(AdocPaper, RedundancyOverflowAddsThreadsAndHalvesTheBatch) {
  const AdocDecision decision = Decided(AdocMode::kPaper, kRedundancy);
  EXPECT_EQ(decision.knobs, (AdocKnobs{.threads = 10, .batch = 128 * kMiB}));
  EXPECT_EQ(decision.threads, AdocReason::kRedundancy);
  EXPECT_EQ(decision.batch, AdocReason::kRedundancy);
}

// Level 0 before redundancy before memory; one of them a window.
TEST(AdocPaper, OneOfSeveralOverflowsIsHandledInOrder) {
  AdocWindow window = {.early_fills = 3, .level0_files = 40, .pending_bytes = 100 * kGiB};
  AdocDecision decision = Decided(AdocMode::kPaper, window);
  EXPECT_EQ(decision.knobs, (AdocKnobs{.threads = 10, .batch = 256 * kMiB}));
  EXPECT_EQ(decision.threads, AdocReason::kLevel0);

  window.level0_files = 0;
  decision = Decided(AdocMode::kPaper, window);
  EXPECT_EQ(decision.knobs, (AdocKnobs{.threads = 10, .batch = 128 * kMiB}));
  EXPECT_EQ(decision.batch, AdocReason::kRedundancy);

  window.pending_bytes = 0;
  EXPECT_EQ(Decided(AdocMode::kPaper, window).batch, AdocReason::kMemory);

  window.level0_files = 20;
  EXPECT_EQ(Decided(AdocMode::kPaper, window).threads, AdocReason::kLevel0);
}

TEST(AdocPaper, IncreasesAreAdditiveAndDecreasesMultiplicative) {
  AdocCore core(AdocMode::kPaper, kLimits);
  AdocKnobs knobs = {.threads = 2, .batch = 64 * kMiB};
  std::vector<int64_t> threads;
  for (int i = 0; i < 4; i++) {
    knobs = core.Decide(kLevel0, knobs).knobs;
    threads.push_back(knobs.threads);
  }
  EXPECT_EQ(threads, (std::vector<int64_t>{4, 6, 8, 10}));
  threads.clear();
  std::vector<uint64_t> batches;
  for (int i = 0; i < 4; i++) {
    knobs = core.Decide(kMemory, knobs).knobs;
    threads.push_back(knobs.threads);
    batches.push_back(knobs.batch / kMiB);
  }
  EXPECT_EQ(threads, (std::vector<int64_t>{5, 2, 2, 2}));
  EXPECT_EQ(batches, (std::vector<uint64_t>{128, 192, 256, 320}));
}

TEST(AdocPaper, BoundsHoldAndWhatTheyPreventHasNoReason) {
  const AdocKnobs top = {.threads = 20, .batch = 512 * kMiB};
  const AdocKnobs bottom = {.threads = 2, .batch = 64 * kMiB};
  ExpectKept(Decided(AdocMode::kPaper, kLevel0, top), top);
  EXPECT_EQ(Decided(AdocMode::kPaper, kLevel0, {.threads = 19, .batch = 64 * kMiB}).knobs.threads,
            20);
  EXPECT_EQ(Decided(AdocMode::kPaper, kMemory, {.threads = 8, .batch = 480 * kMiB}).knobs.batch,
            512 * kMiB);

  const AdocDecision memory = Decided(AdocMode::kPaper, kMemory, top);
  EXPECT_EQ(memory.knobs, (AdocKnobs{.threads = 10, .batch = 512 * kMiB}));
  EXPECT_EQ(memory.batch, AdocReason::kNone);

  const AdocDecision redundancy = Decided(AdocMode::kPaper, kRedundancy, bottom);
  EXPECT_EQ(redundancy.knobs, (AdocKnobs{.threads = 4, .batch = 64 * kMiB}));
  EXPECT_EQ(redundancy.batch, AdocReason::kNone);
  EXPECT_EQ(Decided(AdocMode::kPaper, kRedundancy, {.threads = 2, .batch = 96 * kMiB}).knobs.batch,
            64 * kMiB);
}

TEST(AdocPaper, WithoutASoftLimitThereIsNoRedundancyOverflow) {
  AdocLimits limits = kLimits;
  limits.soft_pending_bytes = 0;
  ExpectKept(AdocCore(AdocMode::kPaper, limits).Decide(kRedundancy, kMiddle), kMiddle);
}

TEST(AdocAblation, OneKnobEach) {
  for (const AdocWindow& window : {kMemory, kLevel0, kRedundancy}) {
    const AdocDecision both = Decided(AdocMode::kPaper, window);
    const AdocDecision threads = Decided(AdocMode::kThreadsOnly, window);
    EXPECT_EQ(threads.knobs, (AdocKnobs{.threads = both.knobs.threads, .batch = kMiddle.batch}));
    EXPECT_EQ(threads.batch, AdocReason::kNone);
    const AdocDecision batch = Decided(AdocMode::kBatchOnly, window);
    EXPECT_EQ(batch.knobs, (AdocKnobs{.threads = kMiddle.threads, .batch = both.knobs.batch}));
    EXPECT_EQ(batch.threads, AdocReason::kNone);
  }
}

// The fork compares with windows before: a first one with flushes, then one at full speed.
AdocCore ForkAtSpeed(double flush_bytes_per_s) {
  AdocCore core(AdocMode::kFork, kLimits);
  ExpectKept(core.Decide({.immutable_memtables = 2, .flush_bytes_per_s = 1}, kMiddle), kMiddle);
  ExpectKept(core.Decide({.flush_bytes_per_s = flush_bytes_per_s}, kMiddle), kMiddle);
  return core;
}

TEST(AdocFork, WindowsWithoutAFlushAreNotLookedAt) {
  AdocCore core = ForkAtSpeed(100e6);
  ExpectKept(core.Decide({.early_fills = 9,
                          .immutable_memtables = 2,
                          .level0_files = 40,
                          .level1_files = 40,
                          .pending_bytes = 100 * kGiB},
                         kMiddle),
             kMiddle);
}

TEST(AdocFork, ImmutablesAddThreadsAndSeveralGrowTheBatch) {
  AdocCore core = ForkAtSpeed(100e6);
  AdocDecision decision =
      core.Decide({.immutable_memtables = 1, .flush_bytes_per_s = 100e6}, kMiddle);
  EXPECT_EQ(decision.knobs, (AdocKnobs{.threads = 10, .batch = 256 * kMiB}));
  EXPECT_EQ(decision.threads, AdocReason::kMemory);
  decision = core.Decide({.immutable_memtables = 2, .flush_bytes_per_s = 100e6}, kMiddle);
  EXPECT_EQ(decision.knobs, (AdocKnobs{.threads = 10, .batch = 320 * kMiB}));
}

TEST(AdocFork, SlowFlushesHalveThreadsAndGrowTheBatch) {
  AdocCore core = ForkAtSpeed(100e6);
  ExpectKept(core.Decide({.flush_bytes_per_s = 50e6}, kMiddle), kMiddle);
  const AdocDecision decision =
      core.Decide({.immutable_memtables = 1, .flush_bytes_per_s = 49e6}, kMiddle);
  EXPECT_EQ(decision.knobs, (AdocKnobs{.threads = 4, .batch = 320 * kMiB}));
  EXPECT_EQ(decision.threads, AdocReason::kSlowFlush);
  EXPECT_EQ(decision.batch, AdocReason::kSlowFlush);
}

TEST(AdocFork, ItsLevel0IsLevel1) {
  AdocCore core = ForkAtSpeed(100e6);
  ExpectKept(core.Decide({.level0_files = 40, .flush_bytes_per_s = 100e6}, kMiddle), kMiddle);
  const AdocDecision decision =
      core.Decide({.level1_files = 20, .flush_bytes_per_s = 49e6}, kMiddle);
  EXPECT_EQ(decision.knobs, (AdocKnobs{.threads = 10, .batch = 320 * kMiB}));
  EXPECT_EQ(decision.threads, AdocReason::kLevel0);
}

TEST(AdocFork, RedundancyOverrulesSlowFlushes) {
  AdocCore core = ForkAtSpeed(100e6);
  const AdocDecision decision =
      core.Decide({.pending_bytes = 64 * kGiB, .flush_bytes_per_s = 10e6}, kMiddle);
  EXPECT_EQ(decision.knobs, (AdocKnobs{.threads = 10, .batch = 128 * kMiB}));
  EXPECT_EQ(decision.threads, AdocReason::kRedundancy);
}

TEST(AdocPlus, ActsBeforeTheLimit) {
  const AdocDecision level0 = Decided(AdocMode::kPlus, {.level0_files = 12});
  EXPECT_EQ(level0.threads, AdocReason::kLevel0);
  EXPECT_EQ(level0.knobs.threads, 10);
  EXPECT_EQ(level0.knobs.batch, 320 * kMiB);

  const AdocDecision redundancy = Decided(AdocMode::kPlus, {.pending_bytes = 40 * kGiB});
  EXPECT_EQ(redundancy.knobs.threads, 10);
  EXPECT_EQ(redundancy.knobs.batch, kMiddle.batch) << "a smaller batch would make more of it";
}

TEST(AdocPlus, LooksOneWindowAhead) {
  AdocCore core(AdocMode::kPlus, kLimits);
  ExpectKept(core.Decide({.level0_files = 5}, kMiddle), kMiddle);
  ExpectKept(core.Decide({.level0_files = 8}, kMiddle), kMiddle);  // 11 are ahead
  EXPECT_EQ(core.Decide({.level0_files = 11}, kMiddle).threads, AdocReason::kLevel0);
  ExpectKept(core.Decide({.level0_files = 11}, kMiddle), kMiddle);  // it has come to rest
}

TEST(AdocPlus, MemoryTakesNoThreadsFromBusyLevels) {
  AdocWindow window = kMemory;
  EXPECT_EQ(Decided(AdocMode::kPlus, window).knobs, (AdocKnobs{.threads = 4, .batch = 320 * kMiB}));
  AdocCore core(AdocMode::kPlus, kLimits);
  window.level0_files = 7;
  static_cast<void>(core.Decide(window, kMiddle));
  EXPECT_EQ(core.Decide(window, kMiddle).knobs, (AdocKnobs{.threads = 8, .batch = 320 * kMiB}));
}

TEST(AdocPlus, DelayedWritesFollowWhatFlushesCarry) {
  AdocCore core(AdocMode::kPlus, kLimits);
  ExpectKept(core.Decide({.ingest_bytes_per_s = 40e6}, kMiddle), kMiddle);
  const AdocWindow pressed = {.level0_files = 15, .ingest_bytes_per_s = 40e6};
  const AdocDecision first = core.Decide(pressed, kMiddle);
  EXPECT_EQ(first.knobs.delayed_write_bytes_per_s, 50'000'000u);
  EXPECT_EQ(first.delayed_write, AdocReason::kLevel0);
  const AdocDecision second = core.Decide(pressed, first.knobs);
  EXPECT_EQ(second.delayed_write, AdocReason::kNone) << "no change worth a call";
}

TEST(AdocPlus, DelayedWritesNeverCease) {
  EXPECT_EQ(Decided(AdocMode::kPlus, kLevel0).knobs.delayed_write_bytes_per_s, kMiB);
}

TEST(AdocReasons, HaveNames) {
  EXPECT_EQ(AdocReasonName(AdocReason::kNone), "none");
  EXPECT_EQ(AdocReasonName(AdocReason::kLevel0), "level0");
  EXPECT_EQ(AdocReasonName(AdocReason::kRedundancy), "redundancy");
  EXPECT_EQ(AdocReasonName(AdocReason::kMemory), "memory");
  EXPECT_EQ(AdocReasonName(AdocReason::kSlowFlush), "slow_flush");
}

}  // namespace

}  // namespace kvdyno::tuners
