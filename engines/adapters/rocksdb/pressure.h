// What RocksDB decides from its levels: whether writes stall and for what, and how many background
// jobs may run. It publishes neither the cause nor the number, so its rules stand here again,
// those of version 7.8.
// Pure functions of values; safe from any thread.
#pragma once

#include <rocksdb/options.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kvdyno::rocks {

enum class Stall : uint8_t { kNone, kDelay, kStop };
constexpr std::array<std::string_view, 3> kStallNames = {"", "delay", "stop"};

// What is full. kOther: something that levels do not show, as a full disk.
enum class Cause : uint8_t { kMemtable, kLevel0, kPending, kOther };
constexpr size_t kCauses = 4;
constexpr std::array<std::string_view, kCauses> kCauseNames = {"memtable", "level0", "pending",
                                                               "other"};

struct Levels {
  uint64_t immutable_memtables = 0;  // sealed and not yet flushed
  uint64_t level0_files = 0;
  uint64_t pending_bytes = 0;  // the estimated compaction debt
};

// The options that the levels are compared with; they may change while the store is open.
struct Limits {
  static Limits Of(const rocksdb::Options& options);

  uint64_t write_buffers = 2;
  uint64_t write_buffers_to_merge = 1;
  uint64_t level0_compaction = 4;  // 0 stands for: never, as everywhere below
  uint64_t level0_slowdown = 20;
  uint64_t level0_stop = 36;
  uint64_t soft_pending_bytes = 0;
  uint64_t hard_pending_bytes = 0;
  uint64_t background_jobs = 2;
  // The options of old, which still decide where they are set; 0: not set.
  uint64_t background_flushes = 0;
  uint64_t background_compactions = 0;
};

// The first reason for this stall in RocksDB's own order: memtables, level 0, pending bytes.
Cause CauseOf(Stall stall, const Levels& levels, const Limits& limits);

struct Slots {
  uint64_t flushes = 1;
  uint64_t compactions = 1;
};

// Jobs that may run at a time. Unless a level presses or writes stall, RocksDB starts one
// compaction only, however many it was given.
Slots SlotsOf(Stall stall, const Levels& levels, const Limits& limits);

}  // namespace kvdyno::rocks
