// Counters: what the store did, counted by every thread without waiting for another.
// Owns numbers only. Adding is safe from any thread and wait-free; sums are approximate while
// others add.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace chunkstore {

// What served a read. Gets from a log or a table count there whether or not their block was cached;
// those that needed nothing from disk count under kBlockCache as well.
enum class Served : uint8_t { kMunk, kStage, kRowCache, kLog, kTable, kNowhere, kBlockCache };
inline constexpr size_t kServers = 7;

// Latencies in nanoseconds, in buckets of a quarter of a power of two.
class LatencyHistogram {
 public:
  void Add(uint64_t ns) { buckets_[BucketOf(ns)].fetch_add(1, std::memory_order_relaxed); }
  // The upper end of the bucket that holds that share of all; 0 when there are none.
  double PercentileNs(double share) const;

  static constexpr size_t kBuckets = 160;
  uint64_t CountIn(size_t bucket) const { return buckets_[bucket].load(std::memory_order_relaxed); }
  static double EndOfNs(size_t bucket);

 private:
  static size_t BucketOf(uint64_t ns);
  std::array<std::atomic<uint64_t>, kBuckets> buckets_{};
};

enum class Count : uint8_t {
  kPuts,
  kPutBytes,
  kScans,
  kScanRows,
  kLogSearchedBytes,
  kFilteredGets,
  kFlushes,
  kFlushBytes,
  kRebalances,
  kRebalanceBytes,
  kSplits,
  kMerges,
  kAdoptions,
  kAdoptionBytes,
  kMunkRebalances,
  kMunkLoads,
  kMunkEvictions,
  kMunkBytesLoaded,
  kLogsWarmed,
  kCheckpoints,
  kRingBytes,
  kManifestBytes,
  kStalls,
  kStallMicros,
  kSlowdownMicros,
  kBackgroundErrors,
  kEnd
};
inline constexpr size_t kCounts = static_cast<size_t>(Count::kEnd);

class Counters {
 public:
  void Add(Count count, uint64_t amount = 1) {
    Mine().counts[static_cast<size_t>(count)].fetch_add(amount, std::memory_order_relaxed);
  }
  uint64_t Sum(Count count) const;

  void Get(Served by, uint64_t bytes) {
    Shard& shard = Mine();
    shard.gets[static_cast<size_t>(by)].fetch_add(1, std::memory_order_relaxed);
    shard.get_bytes[static_cast<size_t>(by)].fetch_add(bytes, std::memory_order_relaxed);
  }
  uint64_t Gets(Served by) const;
  uint64_t GetBytes(Served by) const;

  // One get in 64 is timed, so that the clock costs next to nothing.
  static bool TimeThis();
  LatencyHistogram& latency(Served by) { return latency_[static_cast<size_t>(by)]; }
  const LatencyHistogram& latency(Served by) const { return latency_[static_cast<size_t>(by)]; }

 private:
  static constexpr size_t kShards = 16;
  struct alignas(64) Shard {
    std::array<std::atomic<uint64_t>, kCounts> counts{};
    std::array<std::atomic<uint64_t>, kServers> gets{};
    std::array<std::atomic<uint64_t>, kServers> get_bytes{};
  };
  Shard& Mine();
  std::array<Shard, kShards> shards_;
  std::array<LatencyHistogram, kServers> latency_;
};

}  // namespace chunkstore
