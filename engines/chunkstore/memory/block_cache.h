// BlockCache: table and log blocks in memory, by segment and file offset.
// Sharded by hash, each shard a lock and a clock (block_shard.h); blocks up to 4 KiB and a bit
// share slabs so that the resident set stays what was asked for, larger ones are allocated alone.
// Safe from any thread. Handles must not outlive the cache.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace chunkstore {

class BlockCache {
 public:
  // A block held in memory until the handle goes. Movable.
  class Handle {
   public:
    Handle() = default;
    Handle(Handle&& other) noexcept;
    Handle& operator=(Handle&& other) noexcept;
    ~Handle();
    explicit operator bool() const { return block_ != nullptr; }
    std::string_view bytes() const;

   private:
    friend class BlockCache;
    void* block_ = nullptr;
    BlockCache* cache_ = nullptr;
  };

  explicit BlockCache(size_t capacity);
  ~BlockCache();

  Handle Lookup(uint64_t segment, uint64_t offset);
  // Copies the block; evicts what has not been used for longest. When the block is there already,
  // that one is returned. Never fails: a block larger than a shard is held by its handle alone.
  Handle Insert(uint64_t segment, uint64_t offset, std::string_view bytes);

  bool Holds(uint64_t segment, uint64_t offset) const;  // which is no use of it
  // A block that will not be read again makes room, at once if it shares a slab, unless a handle
  // holds it.
  void Forget(uint64_t segment, uint64_t offset);

  void SetCapacity(size_t bytes);  // shrinks at once
  size_t capacity() const;
  // Resident bytes, overhead included; may exceed the capacity by pinned blocks.
  size_t memory() const;
  // Lookups that missed and whose key was evicted recently (as many as `capacity` held): what a
  // larger cache would have served. Cumulative, with hits, misses and their bytes.
  struct Counts {
    uint64_t hits = 0, misses = 0, ghost_hits = 0, inserts = 0, evictions = 0;
  };
  Counts counts() const;

 private:
  class Shard;
  Shard& ShardOf(uint64_t hash) const;

  std::vector<std::unique_ptr<Shard>> shards_;  // a power of two
  std::atomic<size_t> capacity_;
  std::atomic<size_t> alone_bytes_{0};  // held by handles only
};

}  // namespace chunkstore
