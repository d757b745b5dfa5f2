// RowCache: single rows of chunks that are not in memory as a whole.
// Sharded; each shard has a lock and a FIFO of rows (row_fifo.h), of which those that were found
// stay longer. Published (EvenDB, section 3.2) was a queue of three hash tables, the last of which
// is dropped as a whole: a row that is used again leaves its place unused there until then, and
// with as much memory it misses 1.2 to 2.2 times as often
// (docs/decisions/2026-11-23-chunkstore-row-fifo.md). Safe from any thread.
//
// Staleness: a reader that goes to disk takes Stamp(hash) before it looks anywhere, and inserts
// with that stamp; a flush calls Refresh for every key whose newest version left the stage, and
// Refresh moves the stamp of the key's shard slot, so that a late insert of an older row is
// refused.
//
// Why no stale row stays: let w be a flushed write. Refresh(w) moves the stamp, then takes the
// shard's lock. An insert of an older row holds that lock either before, and then Refresh replaces
// what it left, or after, and then it sees the stamp moved; it passes only if its reader took the
// stamp after that, when w was already to be found in the stage or on disk, so that its reader
// found w or something newer. What the caller owes: w can be found at every moment from its write
// on by a reader that looks into the stages first and on disk then, and the stage goes out of sight
// only after Refresh has returned.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "entry/entry.h"

namespace chunkstore {

class RowCache {
 public:
  static constexpr size_t kRowOverhead = 48;  // bytes of a row beyond key and value, about

  explicit RowCache(size_t capacity);
  ~RowCache();

  // A number that changes whenever a key with this hash may have been refreshed (striped).
  uint64_t Stamp(uint64_t hash) const;
  // True: the newest flushed version of the key is cached, a value (copied) or a deletion.
  bool Lookup(std::string_view key, uint64_t hash, std::string* value, EntryType* type,
              Version* version);
  // Caches what a read found, unless the stamp has changed since, or the row is too large.
  void Insert(std::string_view key, uint64_t hash, const Entry& entry, uint64_t stamp);
  // A newer version was flushed: replaces the row if it is cached, never adds one; moves the stamp.
  void Refresh(std::string_view key, uint64_t hash, const Entry& entry);

  void SetCapacity(size_t bytes);
  size_t capacity() const;
  size_t largest_row() const { return capacity() / shards_.size() / kRowShare; }  // that is cached
  size_t memory() const;
  struct Counts {
    uint64_t hits = 0, misses = 0, ghost_hits = 0, inserts = 0, drops = 0, refused = 0;
  };
  Counts counts() const;

 private:
  static constexpr size_t kStamps = 4096;
  static constexpr size_t kRowShare = 16;  // of a shard: what one row may take
  class Shard;
  Shard& ShardOf(uint64_t hash) const;

  std::vector<std::unique_ptr<Shard>> shards_;  // a power of two
  std::unique_ptr<std::atomic<uint64_t>[]> stamps_;
  std::atomic<size_t> capacity_;
};

}  // namespace chunkstore
