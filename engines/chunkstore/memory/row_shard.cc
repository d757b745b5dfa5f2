#include "memory/row_shard.h"

#include <algorithm>

#include "hooks/seeded_bugs.h"

namespace chunkstore {

bool RowCache::Shard::Lookup(std::string_view key, uint64_t hash, std::string* value,
                             EntryType* type, Version* version) {
  const uint32_t tag = TagOf(hash);
  const kvdyno::MutexLock lock(mutex_);
  Row* row = fifo_.Find(key, tag);
  if (row == nullptr) {
    ++counts_.misses;
    if (ghosts_.Take(tag)) ++counts_.ghost_hits;
    return false;
  }
  ++counts_.hits;
  value->assign(row->value());
  *type = row->type();
  *version = row->version;
  RowFifo::GiveChance(row);
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
  Row* row = fifo_.Find(entry.key, tag);
  if (row == nullptr) {
    ++counts_.inserts;
    Add(entry, tag);
  } else if (row->version < entry.version) {
    Replace(row, entry, tag);
  }
}

void RowCache::Shard::Refresh(const Entry& entry, uint64_t hash) {
  const uint32_t tag = TagOf(hash);
  const kvdyno::MutexLock lock(mutex_);
  Row* row = fifo_.Find(entry.key, tag);
  if (row != nullptr && row->version < entry.version) Replace(row, entry, tag);
}

void RowCache::Shard::SetCapacity(size_t capacity) {
  const kvdyno::MutexLock lock(mutex_);
  capacity_ = capacity;
  if (ghosts_.memory() >= capacity / 2) ghosts_.Resize(0);  // as many as fit come back with rows
  fifo_.SetLimit(capacity - std::min(capacity, ghosts_.memory()), &ghosts_);
}

size_t RowCache::Shard::memory() const {
  const kvdyno::MutexLock lock(mutex_);
  return ghosts_.memory() + fifo_.memory();
}

void RowCache::Shard::AddCounts(Counts* counts) const {
  const kvdyno::MutexLock lock(mutex_);
  counts->hits += counts_.hits;
  counts->misses += counts_.misses;
  counts->ghost_hits += counts_.ghost_hits;
  counts->inserts += counts_.inserts;
  counts->drops += fifo_.drops();
  counts->refused += counts_.refused;
}

void RowCache::Shard::Replace(Row* row, const Entry& entry, uint32_t tag) {
  if (RowFifo::Overwrite(row, entry)) return;
  fifo_.Remove(row);
  if (!IsTooLarge(entry)) Add(entry, tag);
}

void RowCache::Shard::Add(const Entry& entry, uint32_t tag) {
  fifo_.Add(entry, tag, &ghosts_);  // false only where memory could not be had: not cached then
  if (fifo_.drops() > 0) FitGhosts();
}

// As many ghosts as rows. What they take is not there for rows.
void RowCache::Shard::FitGhosts() {
  const size_t rows = fifo_.rows();
  if (rows <= ghosts_.keys() && rows * 4 >= ghosts_.keys()) return;
  ghosts_.Resize(rows + rows / 8);
  fifo_.SetLimit(capacity_ - std::min(capacity_, ghosts_.memory()), &ghosts_);
}

}  // namespace chunkstore
