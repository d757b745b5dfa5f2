// RowShard: one shard of the row cache; a lock and a queue of three generations.
// Owns the rows' memory: a dropped generation's mapping becomes the next head. Safe from any
// thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "kvdyno/base/mutex.h"
#include "memory/ghost_list.h"
#include "memory/row_cache.h"
#include "memory/row_generation.h"

namespace chunkstore {

class RowCache::Shard {
 public:
  explicit Shard(size_t capacity) { SetCapacity(capacity); }

  bool Lookup(std::string_view key, uint64_t hash, std::string* value, EntryType* type,
              Version* version);
  // Only if `current` still is `stamp`.
  void Insert(const Entry& entry, uint64_t hash, const std::atomic<uint64_t>& current,
              uint64_t stamp);
  void Refresh(const Entry& entry, uint64_t hash);
  void SetCapacity(size_t capacity);
  size_t memory() const;
  void AddCounts(Counts* counts) const;

 private:
  static constexpr size_t kGenerations = 3;
  static uint32_t TagOf(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }
  // 0: the head.
  RowGeneration& Generation(size_t age) KVDYNO_REQUIRES(mutex_) {
    return queue_[(head_ + age) % kGenerations];
  }
  Row* Find(std::string_view key, uint32_t tag, size_t* age) KVDYNO_REQUIRES(mutex_);
  bool IsTooLarge(const Entry& entry) const KVDYNO_REQUIRES(mutex_) {
    return RowGeneration::RowBytes(entry) > capacity_ / 16;
  }
  void Replace(Row* row, size_t age, const Entry& entry, uint32_t tag) KVDYNO_REQUIRES(mutex_);
  void AddToHead(const Entry& entry, uint32_t tag) KVDYNO_REQUIRES(mutex_);
  void Rotate() KVDYNO_REQUIRES(mutex_);

  mutable kvdyno::Mutex mutex_;
  size_t capacity_ KVDYNO_GUARDED_BY(mutex_) = 0;
  std::array<RowGeneration, kGenerations> queue_ KVDYNO_GUARDED_BY(mutex_);
  size_t head_ KVDYNO_GUARDED_BY(mutex_) = 0;
  GhostList ghosts_ KVDYNO_GUARDED_BY(mutex_);
  Counts counts_ KVDYNO_GUARDED_BY(mutex_);
};

}  // namespace chunkstore
