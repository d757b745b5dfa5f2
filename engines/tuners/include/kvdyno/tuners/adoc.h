// ADOC's decisions (Yu et al., FAST 2023): what was observed in one window goes in, threads and
// batch for the next one come out. Owns the rules and the little memory that some of them need;
// knows no engine, no clock and no lock. One thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace kvdyno::tuners {

enum class AdocMode : uint8_t {
  kPaper,        // the published rules
  kFork,         // the rules of the authors' public code, which differ
  kThreadsOnly,  // the published rules, the batch left alone
  kBatchOnly,    // the published rules, the threads left alone
  kPlus,         // acts before a limit is reached, and sets the rate of delayed writes too
};

// Why a knob was turned.
enum class AdocReason : uint8_t {
  kNone,        // it was not
  kLevel0,      // too many files at level 0 (L0O)
  kRedundancy,  // too much data waits for compaction (RDO)
  kMemory,      // memtables fill faster than they are flushed (MMO)
  kSlowFlush,   // flushes are slower than they were (kFork only)
};

inline constexpr int kAdocReasons = 5;

// "level0", "redundancy", "memory", "slow_flush"; "none".
std::string_view AdocReasonName(AdocReason reason);

// One window's observations.
struct AdocWindow {
  uint64_t early_fills = 0;          // memtables full before an older one was flushed
  uint64_t immutable_memtables = 0;  // waiting for their flush, at the window's end
  uint64_t level0_files = 0;         // the most that were seen
  uint64_t level1_files = 0;         // at the window's end
  uint64_t pending_bytes = 0;        // of compaction, at the window's end
  double flush_bytes_per_s = 0;      // mean speed of the flushes that ended; 0: none did
  double ingest_bytes_per_s = 0;     // flushed over the window's whole length
};

// What does not change while a store is open.
struct AdocLimits {
  uint64_t level0_slowdown_files = 20;
  uint64_t soft_pending_bytes = 0;  // 0: no limit, and so no redundancy overflow
  int64_t threads_min = 2;
  int64_t threads_max = 2;
  uint64_t batch_min = 0;
  uint64_t batch_max = 0;
  uint64_t batch_step = 0;
};

struct AdocKnobs {
  int64_t threads = 0;  // background jobs; the engine gives a quarter of them to flushes
  uint64_t batch = 0;   // bytes of a memtable, and of a table at level 1
  uint64_t delayed_write_bytes_per_s = 0;  // 0: the engine's own; only kPlus sets it

  bool operator==(const AdocKnobs&) const = default;
};

// A knob whose reason is kNone keeps its value.
struct AdocDecision {
  AdocKnobs knobs;
  AdocReason threads = AdocReason::kNone;
  AdocReason batch = AdocReason::kNone;
  AdocReason delayed_write = AdocReason::kNone;
};

class AdocCore {
 public:
  AdocCore(AdocMode mode, const AdocLimits& limits) : mode_(mode), limits_(limits) {}

  // Additive increase, multiplicative decrease, within the limits. What the limits leave as it
  // is has no reason.
  AdocDecision Decide(const AdocWindow& window, const AdocKnobs& current);

 private:
  enum class Move : uint8_t { kKeep, kRaise, kHalve };
  struct Turn {
    Move move = Move::kKeep;
    AdocReason reason = AdocReason::kNone;
  };
  struct Turns {
    Turn threads = {};
    Turn batch = {};
    AdocReason delayed_write = AdocReason::kNone;
  };

  Turns Paper(const AdocWindow& window) const;
  Turns Fork(const AdocWindow& window);
  Turns Plus(const AdocWindow& window);

  bool Level0Overflow(uint64_t files) const { return files >= limits_.level0_slowdown_files; }
  bool RedundancyOverflow(const AdocWindow& window) const;
  AdocDecision Apply(const Turns& turns, const AdocKnobs& current) const;
  uint64_t DelayedWriteRate(uint64_t current) const;

  const AdocMode mode_;
  const AdocLimits limits_;
  // kFork: the fastest flushes of a window so far, once a first window with flushes is over.
  bool flushed_before_ = false;
  double best_flush_bytes_per_s_ = 0;
  // kPlus: the last window's share of each limit, and what flushes have carried on average.
  double level0_share_ = 0;
  double pending_share_ = 0;
  double ingest_bytes_per_s_ = 0;
};

}  // namespace kvdyno::tuners
