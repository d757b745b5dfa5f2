#include "core/counters.h"

#include <bit>
#include <cmath>

namespace chunkstore {

size_t LatencyHistogram::BucketOf(uint64_t ns) {
  if (ns < 4) return ns;
  const int power = std::bit_width(ns) - 1;  // of two, at or below; at least 2
  const size_t quarter = (ns >> (power - 2)) & 3;
  const size_t bucket = static_cast<size_t>(power - 1) * 4 + quarter;
  return bucket < kBuckets ? bucket : kBuckets - 1;
}

double LatencyHistogram::PercentileNs(double share) const {
  uint64_t total = 0;
  for (const auto& bucket : buckets_) total += bucket.load(std::memory_order_relaxed);
  if (total == 0) return 0;
  const auto wanted = static_cast<uint64_t>(std::ceil(share * static_cast<double>(total)));
  uint64_t seen = 0;
  size_t at = 0;
  for (; at < kBuckets; ++at) {
    seen += buckets_[at].load(std::memory_order_relaxed);
    if (seen >= wanted) break;
  }
  return EndOfNs(at);
}

double LatencyHistogram::EndOfNs(size_t bucket) {
  if (bucket < 4) return static_cast<double>(bucket);
  const double power = std::exp2(static_cast<int>(bucket / 4) + 1);
  return power * (1.25 + 0.25 * static_cast<double>(bucket % 4));
}

namespace {

size_t ThreadNumber() {
  static std::atomic<size_t> next{0};
  thread_local const size_t mine = next.fetch_add(1, std::memory_order_relaxed);
  return mine;
}

}  // namespace

Counters::Shard& Counters::Mine() { return shards_[ThreadNumber() % kShards]; }

bool Counters::TimeThis() {
  thread_local uint32_t calls = 0;
  return (calls++ & 63) == 0;
}

uint64_t Counters::Sum(Count count) const {
  uint64_t sum = 0;
  for (const Shard& shard : shards_) {
    sum += shard.counts[static_cast<size_t>(count)].load(std::memory_order_relaxed);
  }
  return sum;
}

uint64_t Counters::Gets(Served by) const {
  uint64_t sum = 0;
  for (const Shard& shard : shards_) {
    sum += shard.gets[static_cast<size_t>(by)].load(std::memory_order_relaxed);
  }
  return sum;
}

uint64_t Counters::GetBytes(Served by) const {
  uint64_t sum = 0;
  for (const Shard& shard : shards_) {
    sum += shard.get_bytes[static_cast<size_t>(by)].load(std::memory_order_relaxed);
  }
  return sum;
}

}  // namespace chunkstore
