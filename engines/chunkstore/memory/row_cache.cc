#include "memory/row_cache.h"

#include "memory/row_shard.h"

namespace chunkstore {
namespace {

constexpr size_t kMaxShards = 16;
// A shard caches rows up to a sixteenth of itself: below that, 16 KiB would be too large.
constexpr size_t kMinShardBytes = 256 << 10;

size_t ShardsFor(size_t capacity) {
  if (capacity == 0) return kMaxShards;  // perhaps it grows later
  size_t shards = kMaxShards;
  while (shards > 1 && capacity / shards < kMinShardBytes) shards /= 2;
  return shards;
}

}  // namespace

RowCache::RowCache(size_t capacity)
    : stamps_(std::make_unique<std::atomic<uint64_t>[]>(kStamps)), capacity_(capacity) {
  const size_t shards = ShardsFor(capacity);
  for (size_t i = 0; i < shards; ++i) shards_.push_back(std::make_unique<Shard>(capacity / shards));
}

RowCache::~RowCache() = default;

RowCache::Shard& RowCache::ShardOf(uint64_t hash) const {
  return *shards_[hash & (shards_.size() - 1)];
}

uint64_t RowCache::Stamp(uint64_t hash) const {
  return stamps_[hash % kStamps].load(std::memory_order_acquire);
}

bool RowCache::Lookup(std::string_view key, uint64_t hash, std::string* value, EntryType* type,
                      Version* version) {
  return ShardOf(hash).Lookup(key, hash, value, type, version);
}

void RowCache::Insert(std::string_view key, uint64_t hash, const Entry& entry, uint64_t stamp) {
  Entry row = entry;
  row.key = key;
  ShardOf(hash).Insert(row, hash, stamps_[hash % kStamps], stamp);
}

void RowCache::Refresh(std::string_view key, uint64_t hash, const Entry& entry) {
  stamps_[hash % kStamps].fetch_add(1, std::memory_order_acq_rel);
  Entry row = entry;
  row.key = key;
  ShardOf(hash).Refresh(row, hash);
}

void RowCache::SetCapacity(size_t bytes) {
  capacity_.store(bytes, std::memory_order_relaxed);
  for (const auto& shard : shards_) shard->SetCapacity(bytes / shards_.size());
}

size_t RowCache::capacity() const { return capacity_.load(std::memory_order_relaxed); }

size_t RowCache::memory() const {
  size_t bytes = kStamps * sizeof(std::atomic<uint64_t>);
  for (const auto& shard : shards_) bytes += shard->memory();
  return bytes;
}

RowCache::Counts RowCache::counts() const {
  Counts counts;
  for (const auto& shard : shards_) shard->AddCounts(&counts);
  return counts;
}

}  // namespace chunkstore
