// Shard: sorted entries, the structure that samples them, and a filter over their tombstones.
// Entries lie in memory or on disk. Immutable but for tags, which the index writes, one thread at a time; everything
// else is safe from any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "index/filter.h"
#include "index/merge.h"
#include "kvdyno/base/status.h"
#include "sampling/structure.h"

namespace sampling {

struct Page;
class PageFile;

// The pairs of a shard's tombstones.
class Tombstones {
 public:
  // In order.
  void Add(const Entry& tombstone) { pairs_.push_back({tombstone.key, tombstone.value}); }
  void MakeFilter(double false_positives);

  size_t size() const { return pairs_.size(); }
  bool Contain(uint64_t key, uint64_t value, Probes probes) const {
    return !pairs_.empty() && filter_.MayContain(probes) && Hold(key, value);
  }
  size_t bytes() const { return pairs_.capacity() * sizeof(Pair) + filter_.bytes(); }

 private:
  struct Pair {
    uint64_t key;
    uint64_t value;
    auto operator<=>(const Pair&) const = default;
  };
  bool Hold(uint64_t key, uint64_t value) const;

  std::vector<Pair> pairs_;
  Filter filter_;
};

class Shard {
 public:
  virtual ~Shard() = default;
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  virtual size_t size() const = 0;  // entries
  // The entries with keys from `first` to `last`, or some more. Lives as long as the shard.
  virtual std::unique_ptr<Run> Entries(uint64_t first, uint64_t last) const = 0;
  // Null where entries are on disk.
  virtual const Entry* data() const { return nullptr; }

  // As Structure::Select, over the entries in memory, or over pages.
  virtual std::unique_ptr<Selection> Select(uint64_t first, uint64_t last) const = 0;
  // By how much a selection's mass is to be multiplied.
  virtual double unit() const { return 1; }
  // On disk, a selection's positions are pages of this file; then Pick draws among a page's entries. A tombstone
  // stands for a draw that found none.
  virtual const PageFile* file() const { return nullptr; }
  virtual Entry Pick(const Page& page, Random* random) const;

  struct Found {
    size_t position;
    double weight;
    uint64_t deleted_at;
  };
  // Prefetches what Near reads, in two steps. With many shards to search, each step is taken in all of them before
  // the next one is in any, so that their cache misses overlap.
  static constexpr int kApproaches = 2;
  virtual void Approach(uint64_t key, int step) const = 0;
  // Where a search for that key begins and ends; prefetches what FindIn reads.
  virtual std::span<const Entry> Near(uint64_t key) const = 0;
  // The record of that pair, tagged or not, or none. Reading may fail.
  virtual Status FindIn(std::span<const Entry> near, uint64_t key, uint64_t value,
                        std::optional<Found>* found) const = 0;
  Status Find(uint64_t key, uint64_t value, std::optional<Found>* found) const {
    return FindIn(Near(key), key, value, found);
  }
  bool HasTombstone(uint64_t key, uint64_t value, Probes probes) const {
    return tombstones_.Contain(key, value, probes);
  }

  void Tag(const Found& found, uint64_t time);

  size_t tombstones() const { return tombstones_.size(); }
  size_t tagged() const { return tagged_.load(std::memory_order_relaxed); }
  double tagged_mass() const { return tagged_mass_.load(std::memory_order_relaxed); }
  double mass() const { return mass_; }  // the tagged records included
  virtual size_t bytes() const = 0;      // of memory
  virtual uint64_t disk_bytes() const { return 0; }

  // Internal where order, weights or filter do not hold; or what reading found.
  Status Verify() const;

 protected:
  explicit Shard(const Kind& kind) : kind_(kind) {}
  virtual void Mark(size_t position, uint64_t time) = 0;

  const Kind& kind_;
  Tombstones tombstones_;
  double mass_ = 0;

 private:
  std::atomic<size_t> tagged_{0};
  std::atomic<double> tagged_mass_{0};
};

}  // namespace sampling
