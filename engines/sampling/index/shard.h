// Shard: sorted entries, the structure that samples them, and a filter over their tombstones.
// Immutable but for tags, which the index writes, one thread at a time; everything else is safe
// from any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "index/filter.h"
#include "kvdyno/base/status.h"
#include "sampling/structure.h"

namespace sampling {

using kvdyno::Status;

class Shard {
 public:
  // Entries are sorted by (key, value); a tombstone comes before a record of its pair, which is newer.
  Shard(std::vector<Entry> entries, const Kind& kind, double filter_false_positives);
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  const std::vector<Entry>& entries() const { return entries_; }
  const Structure& structure() const { return *structure_; }

  // Where a search for that key begins and ends: the first half of Find, which prefetches what the second half
  // reads. With many shards to search, all first halves come first.
  std::span<Entry> Near(uint64_t key);
  // The record of that pair, tagged or not; null: there is none.
  Entry* FindIn(std::span<Entry> near, uint64_t key, uint64_t value);
  Entry* Find(uint64_t key, uint64_t value) { return FindIn(Near(key), key, value); }
  bool HasTombstone(uint64_t key, uint64_t value, uint64_t hash) const;

  void Tag(Entry* entry, uint64_t time);

  size_t tombstones() const { return tombstones_.size(); }
  size_t tagged() const { return tagged_.load(std::memory_order_relaxed); }
  double tagged_mass() const { return tagged_mass_.load(std::memory_order_relaxed); }
  double mass() const { return mass_; }  // the tagged records included
  size_t bytes() const;

  // Internal where order, weights or filter do not hold.
  Status Verify() const;

 private:
  struct Pair {
    uint64_t key;
    uint64_t value;
    auto operator<=>(const Pair&) const = default;
  };

  const Kind& kind_;
  static constexpr size_t kFenceEvery = 32;  // entries
  std::vector<Entry> entries_;
  std::vector<uint64_t> fences_;  // the keys of every 32nd entry
  std::vector<Pair> tombstones_;  // sorted
  Filter filter_;
  std::unique_ptr<Structure> structure_;
  double mass_ = 0;
  std::atomic<size_t> tagged_{0};
  std::atomic<double> tagged_mass_{0};
};

}  // namespace sampling
