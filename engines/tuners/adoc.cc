#include "kvdyno/tuners/adoc.h"

#include <algorithm>
#include <utility>

namespace kvdyno::tuners {

namespace {

constexpr int64_t kThreadStep = 2;

// For kFork: flushes slower than this share of the best ones are slow.
constexpr double kSlowFlush = 0.5;

// For kPlus. The share of a limit that counts as pressure, and the one that is still calm.
constexpr double kPressure = 0.6;
constexpr double kCalm = 0.3;
// The newest window's weight in the average of what flushes carry.
constexpr double kIngestWeight = 1.0 / 8;
// Delayed writes may come this much faster than flushes carried them, so that the rate can rise
// again, but not slower than the floor; smaller changes of the rate are not worth a call.
constexpr double kHeadroom = 1.25;
constexpr double kDelayedRateFloor = 1 << 20;
constexpr double kRateChange = 0.25;

// One window ahead, if what grew goes on growing.
double Projected(double before, double now) { return now + std::max(0.0, now - before); }

}  // namespace

std::string_view AdocReasonName(AdocReason reason) {
  switch (reason) {
    case AdocReason::kNone:
      return "none";
    case AdocReason::kLevel0:
      return "level0";
    case AdocReason::kRedundancy:
      return "redundancy";
    case AdocReason::kMemory:
      return "memory";
    case AdocReason::kSlowFlush:
      return "slow_flush";
  }
  return "";
}

AdocDecision AdocCore::Decide(const AdocWindow& window, const AdocKnobs& current) {
  switch (mode_) {
    case AdocMode::kPaper:
      return Apply(Paper(window), current);
    case AdocMode::kFork:
      return Apply(Fork(window), current);
    case AdocMode::kThreadsOnly: {
      Turns turns = Paper(window);
      turns.batch = {};
      return Apply(turns, current);
    }
    case AdocMode::kBatchOnly: {
      Turns turns = Paper(window);
      turns.threads = {};
      return Apply(turns, current);
    }
    case AdocMode::kPlus:
      return Apply(Plus(window), current);
  }
  return {.knobs = current};
}

bool AdocCore::RedundancyOverflow(const AdocWindow& window) const {
  return limits_.soft_pending_bytes > 0 && window.pending_bytes >= limits_.soft_pending_bytes;
}

// The first of several overflows in this order is handled, the others wait for the next window.
AdocCore::Turns AdocCore::Paper(const AdocWindow& window) const {
  if (Level0Overflow(window.level0_files)) {
    return {.threads = {Move::kRaise, AdocReason::kLevel0}};
  }
  if (RedundancyOverflow(window)) {
    return {.threads = {Move::kRaise, AdocReason::kRedundancy},
            .batch = {Move::kHalve, AdocReason::kRedundancy}};
  }
  if (window.early_fills > 0) {
    return {.threads = {Move::kHalve, AdocReason::kMemory},
            .batch = {Move::kRaise, AdocReason::kMemory}};
  }
  return {};
}

// Later findings overrule earlier ones. Windows without a finished flush are not looked at, and
// files are counted at level 1, where the code takes them for those of level 0.
AdocCore::Turns AdocCore::Fork(const AdocWindow& window) {
  if (window.flush_bytes_per_s <= 0) return {};
  if (!std::exchange(flushed_before_, true)) return {};
  best_flush_bytes_per_s_ = std::max(best_flush_bytes_per_s_, window.flush_bytes_per_s);
  const bool slow = window.flush_bytes_per_s < kSlowFlush * best_flush_bytes_per_s_;

  Turns turns;
  if (window.immutable_memtables >= 1) turns.threads = {Move::kRaise, AdocReason::kMemory};
  if (slow) turns.threads = {Move::kHalve, AdocReason::kSlowFlush};
  if (Level0Overflow(window.level1_files)) turns.threads = {Move::kRaise, AdocReason::kLevel0};
  if (window.immutable_memtables > 1) turns.batch = {Move::kRaise, AdocReason::kMemory};
  if (slow) turns.batch = {Move::kRaise, AdocReason::kSlowFlush};
  if (RedundancyOverflow(window)) {
    turns.threads = {Move::kRaise, AdocReason::kRedundancy};
    turns.batch = {Move::kHalve, AdocReason::kRedundancy};
  }
  return turns;
}

// Looks one window ahead. Unlike the paper: pressure at level 0 grows the batch too, because a
// larger one makes fewer files; redundancy leaves the batch alone, because a smaller one shrinks
// the levels' sizes, which makes more redundancy; memory takes threads away only while levels are
// calm.
AdocCore::Turns AdocCore::Plus(const AdocWindow& window) {
  const double files = static_cast<double>(window.level0_files);
  const double pending = static_cast<double>(window.pending_bytes);
  const double level0_share = files / static_cast<double>(limits_.level0_slowdown_files);
  const double pending_share = limits_.soft_pending_bytes > 0
                                   ? pending / static_cast<double>(limits_.soft_pending_bytes)
                                   : 0;
  const double level0 = Projected(std::exchange(level0_share_, level0_share), level0_share);
  const double redundancy = Projected(std::exchange(pending_share_, pending_share), pending_share);
  const double ingest = window.ingest_bytes_per_s;
  const double weight = ingest_bytes_per_s_ > 0 ? kIngestWeight : 1;
  ingest_bytes_per_s_ += weight * (ingest - ingest_bytes_per_s_);

  Turns turns;
  if (window.early_fills > 0) {
    if (level0 < kCalm && redundancy < kCalm) turns.threads = {Move::kHalve, AdocReason::kMemory};
    turns.batch = {Move::kRaise, AdocReason::kMemory};
  }
  if (redundancy >= kPressure) {
    turns.threads = {Move::kRaise, AdocReason::kRedundancy};
    turns.delayed_write = AdocReason::kRedundancy;
  }
  if (level0 >= kPressure) {
    turns.threads = {Move::kRaise, AdocReason::kLevel0};
    turns.batch = {Move::kRaise, AdocReason::kLevel0};
    turns.delayed_write = AdocReason::kLevel0;
  }
  return turns;
}

uint64_t AdocCore::DelayedWriteRate(uint64_t current) const {
  const double rate = std::max(kDelayedRateFloor, kHeadroom * ingest_bytes_per_s_);
  const double before = static_cast<double>(current);
  const bool same = rate > before * (1 - kRateChange) && rate < before * (1 + kRateChange);
  return same ? current : static_cast<uint64_t>(rate);
}

AdocDecision AdocCore::Apply(const Turns& turns, const AdocKnobs& current) const {
  AdocDecision decision{.knobs = current};
  AdocKnobs& knobs = decision.knobs;
  if (turns.threads.move == Move::kRaise) {
    knobs.threads = std::min(current.threads + kThreadStep, limits_.threads_max);
  } else if (turns.threads.move == Move::kHalve) {
    knobs.threads = std::max(current.threads / 2, limits_.threads_min);
  }
  if (turns.batch.move == Move::kRaise) {
    knobs.batch = std::min(current.batch + limits_.batch_step, limits_.batch_max);
  } else if (turns.batch.move == Move::kHalve) {
    knobs.batch = std::max(current.batch / 2, limits_.batch_min);
  }
  if (turns.delayed_write != AdocReason::kNone) {
    knobs.delayed_write_bytes_per_s = DelayedWriteRate(current.delayed_write_bytes_per_s);
  }

  if (knobs.threads != current.threads) decision.threads = turns.threads.reason;
  if (knobs.batch != current.batch) decision.batch = turns.batch.reason;
  if (knobs.delayed_write_bytes_per_s != current.delayed_write_bytes_per_s) {
    decision.delayed_write = turns.delayed_write;
  }
  return decision;
}

}  // namespace kvdyno::tuners
