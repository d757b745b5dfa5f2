#include "memory/row_shard.h"

#include <algorithm>

#include "hooks/seeded_bugs.h"

namespace chunkstore {

bool RowCache::Shard::Lookup(std::string_view key, uint64_t hash, std::string* value,
                             EntryType* type, Version* version) {
  const uint32_t tag = TagOf(hash);
  const kvdyno::MutexLock lock(mutex_);
  size_t age = 0;
  const Row* row = Find(key, tag, &age);
  if (row == nullptr) {
    ++counts_.misses;
    if (ghosts_.Take(tag)) ++counts_.ghost_hits;
    return false;
  }
  ++counts_.hits;
  value->assign(row->value());
  *type = row->type;
  *version = row->version;
  if (age > 0) {
    // From the caller's copy: making room in the head may overwrite the row itself.
    Generation(age).RemoveFound();
    AddToHead({key, *value, *version, *type}, tag);
  }
  return true;
}

void RowCache::Shard::Insert(const Entry& entry, uint64_t hash,
                             const std::atomic<uint64_t>& current, uint64_t stamp) {
  const uint32_t tag = TagOf(hash);
  const kvdyno::MutexLock lock(mutex_);
  if (IsTooLarge(entry)) return;
  if (current.load(std::memory_order_acquire) != stamp && !Seeded(Bug::kStaleRow)) {
    ++counts_.refused;
    return;
  }
  size_t age = 0;
  Row* row = Find(entry.key, tag, &age);
  if (row == nullptr) {
    ++counts_.inserts;
    AddToHead(entry, tag);
  } else if (row->version < entry.version) {
    Replace(row, age, entry, tag);
  }
}

void RowCache::Shard::Refresh(const Entry& entry, uint64_t hash) {
  const uint32_t tag = TagOf(hash);
  const kvdyno::MutexLock lock(mutex_);
  size_t age = 0;
  Row* row = Find(entry.key, tag, &age);
  if (row != nullptr && row->version < entry.version) Replace(row, age, entry, tag);
}

void RowCache::Shard::SetCapacity(size_t capacity) {
  const kvdyno::MutexLock lock(mutex_);
  capacity_ = capacity;
  if (capacity == 0) ghosts_.Resize(0);
  const size_t rows = capacity - std::min(capacity, ghosts_.memory());
  for (RowGeneration& generation : queue_) generation.SetLimit(rows / kGenerations);
}

size_t RowCache::Shard::memory() const {
  const kvdyno::MutexLock lock(mutex_);
  size_t bytes = ghosts_.memory();
  for (const RowGeneration& generation : queue_) bytes += generation.memory();
  return bytes;
}

void RowCache::Shard::AddCounts(Counts* counts) const {
  const kvdyno::MutexLock lock(mutex_);
  counts->hits += counts_.hits;
  counts->misses += counts_.misses;
  counts->ghost_hits += counts_.ghost_hits;
  counts->inserts += counts_.inserts;
  counts->drops += counts_.drops;
  counts->refused += counts_.refused;
}

Row* RowCache::Shard::Find(std::string_view key, uint32_t tag, size_t* age) {
  for (size_t i = 0; i < kGenerations; ++i) Generation(i).Prefetch(tag);
  for (*age = 0; *age < kGenerations; ++*age) {
    if (Row* row = Generation(*age).Find(key, tag)) return row;
  }
  return nullptr;
}

// `row` is what Find has just found in that generation.
void RowCache::Shard::Replace(Row* row, size_t age, const Entry& entry, uint32_t tag) {
  if (RowGeneration::Overwrite(row, entry)) return;
  Generation(age).RemoveFound();
  if (!IsTooLarge(entry)) AddToHead(entry, tag);
}

void RowCache::Shard::AddToHead(const Entry& entry, uint32_t tag) {
  if (Generation(0).Add(entry, tag)) return;
  Rotate();
  Generation(0).Add(entry,
                    tag);  // fails only where memory for it could not be had: not cached then
}

void RowCache::Shard::Rotate() {
  size_t rows = 0;
  for (const RowGeneration& generation : queue_) rows += generation.rows();
  if (rows > ghosts_.keys() || rows * 4 < ghosts_.keys()) ghosts_.Resize(rows + rows / 8);
  head_ = (head_ + kGenerations - 1) % kGenerations;
  counts_.drops += Generation(0).rows();
  Generation(0).Clear(&ghosts_);
  // What the ghosts take is not there for rows.
  const size_t share = capacity_ - std::min(capacity_, ghosts_.memory());
  Generation(0).SetLimit(share / kGenerations);
}

}  // namespace chunkstore
