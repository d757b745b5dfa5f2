// Budget: how external mode shares out its cap, in bytes. Pure functions of the options.
#pragma once

#include <cstddef>

#include "index/disk_shard.h"
#include "index/levels.h"
#include "sampling/options.h"

namespace sampling {

struct Budget {
  // A buffer takes this per entry, a merge's copies of it included.
  static constexpr size_t kBufferEntryBytes = 256;
  // A shard in memory takes this, with the largest structure.
  static constexpr size_t kShardEntryBytes = 64;

  // Full levels in memory.
  static double Levels(const Options& options) {
    double bytes = 0;
    for (size_t level = 0; level < options.memory_levels; ++level)
      bytes += CapacityOf(level, options) * kShardEntryBytes;
    return bytes;
  }
  // A merge needs this beside the shards that it replaces: those in memory that it makes, and blocks of files.
  static double Merge(const Options& options) {
    return Levels(options) +
           static_cast<double>(options.scale_factor + 2) * DiskShardWriter::kBytes;
  }
  static double LeastCache(const Options& options) {
    return static_cast<double>(options.memory_bytes) / 10;
  }
  static double LeastMemory(const Options& options) {
    const double buffers = static_cast<double>(options.buffer_records) * kBufferEntryBytes;
    return (buffers + Levels(options) + Merge(options)) * 10 / 9;
  }
};

}  // namespace sampling
