// RowShard: one shard of the row cache; a lock, a FIFO of rows and the ghosts of those that left.
// Safe from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "kvdyno/base/mutex.h"
#include "memory/ghost_list.h"
#include "memory/row_cache.h"
#include "memory/row_fifo.h"

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
  static uint32_t TagOf(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }
  bool IsTooLarge(const Entry& entry) const KVDYNO_REQUIRES(mutex_) {
    return RowFifo::RowBytes(entry) > capacity_ / kRowShare;
  }
  void Replace(Row* row, const Entry& entry, uint32_t tag) KVDYNO_REQUIRES(mutex_);
  void Add(const Entry& entry, uint32_t tag) KVDYNO_REQUIRES(mutex_);
  void FitGhosts() KVDYNO_REQUIRES(mutex_);

  mutable kvdyno::Mutex mutex_;
  size_t capacity_ KVDYNO_GUARDED_BY(mutex_) = 0;
  RowFifo fifo_ KVDYNO_GUARDED_BY(mutex_);
  GhostList ghosts_ KVDYNO_GUARDED_BY(mutex_);
  Counts counts_ KVDYNO_GUARDED_BY(mutex_);
};

}  // namespace chunkstore
