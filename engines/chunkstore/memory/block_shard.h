// BlockShard: one shard of the block cache; a lock, a hash table, slabs and a clock.
// Owns the blocks' memory. A slab is a mapping cut into slots of one size class (steps of 256
// bytes); a block too large for that gets a slab of its own on the heap. The clock's hand goes over
// all slabs. Safe from any thread; everything but pins is guarded by the lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "kvdyno/base/mutex.h"
#include "memory/block_cache.h"
#include "memory/ghost_list.h"
#include "memory/pages.h"

namespace chunkstore {

struct BlockSlab;

// A slot and the block in it. A pin is only taken under the shard's lock and given up without it,
// so that the clock may take whatever it finds without pins.
struct BlockFrame {
  uint64_t segment = 0;
  uint64_t offset = 0;
  uint64_t hash = 0;
  char* data = nullptr;
  BlockSlab* slab = nullptr;  // null: belongs to its only handle
  BlockFrame* next_free = nullptr;
  uint32_t size = 0;
  std::atomic<uint32_t> pins{0};
  bool used = false;        // holds a block
  bool linked = false;      // the hash table knows it
  bool referenced = false;  // since the hand was here last
};

// Slots of one size, or one block of its own.
struct BlockSlab {
  Pages pages;                   // of a shared slab
  std::unique_ptr<char[]> heap;  // of a single block
  std::unique_ptr<BlockFrame[]> frames;
  BlockFrame* free = nullptr;
  uint32_t slots = 0;
  uint32_t touched = 0;  // slots from here on were never used
  uint32_t used = 0;
  size_t slot_bytes = 0;
  size_t size_class = 0;
  size_t partial_at = 0;  // its place among the shard's partial slabs, while used < slots
  size_t bytes = 0;       // with its frames

  char* data() const { return heap ? heap.get() : pages.data(); }
};

class BlockCache::Shard {
 public:
  explicit Shard(size_t capacity) : capacity_(capacity) {}

  // Pinned, or null.
  BlockFrame* Lookup(uint64_t hash, uint64_t segment, uint64_t offset);
  // Pinned; null when there is no room for it.
  BlockFrame* Insert(uint64_t hash, uint64_t segment, uint64_t offset, std::string_view bytes);
  bool Holds(uint64_t hash, uint64_t segment, uint64_t offset) const;
  void Forget(uint64_t hash, uint64_t segment, uint64_t offset);
  void SetCapacity(size_t capacity);
  size_t memory() const;
  void AddCounts(Counts* counts) const;

 private:
  static constexpr size_t kClassStep = 256;
  static constexpr size_t kClasses = 18;  // the last: 4352 bytes; class 0: a slab of its own
  struct Bucket {
    uint64_t hash = 0;
    BlockFrame* frame = nullptr;  // null: free
  };

  static size_t ClassOf(size_t bytes);
  size_t FindBucket(uint64_t hash, uint64_t segment, uint64_t offset) const KVDYNO_REQUIRES(mutex_);
  void Link(BlockFrame* frame) KVDYNO_REQUIRES(mutex_);
  size_t BucketOf(const BlockFrame* frame) const KVDYNO_REQUIRES(mutex_);
  void Unlink(BlockFrame* frame) KVDYNO_REQUIRES(mutex_);
  void GrowTable() KVDYNO_REQUIRES(mutex_);

  BlockFrame* Take(size_t bytes) KVDYNO_REQUIRES(mutex_);
  BlockFrame* PopFree(size_t size_class) KVDYNO_REQUIRES(mutex_);
  BlockSlab* AddSlab(size_t size_class, size_t bytes) KVDYNO_REQUIRES(mutex_);
  size_t SlabBytes(size_t size_class, size_t bytes) const KVDYNO_REQUIRES(mutex_);
  void RemovePartial(BlockSlab* slab) KVDYNO_REQUIRES(mutex_);
  void RemoveSlab(size_t at) KVDYNO_REQUIRES(mutex_);
  bool StepClock(size_t size_class) KVDYNO_REQUIRES(mutex_);
  void Evict(BlockFrame* frame) KVDYNO_REQUIRES(mutex_);
  void Release(BlockFrame* frame) KVDYNO_REQUIRES(mutex_);
  void Vacate(size_t at) KVDYNO_REQUIRES(mutex_);
  bool Drain(size_t at) KVDYNO_REQUIRES(mutex_);
  void ShrinkToCapacity() KVDYNO_REQUIRES(mutex_);
  size_t Reserved() const KVDYNO_REQUIRES(mutex_) { return slab_bytes_ + TableBytes(); }
  size_t TableBytes() const KVDYNO_REQUIRES(mutex_) {
    return table_.size() * sizeof(Bucket) + ghosts_.memory();
  }

  mutable kvdyno::Mutex mutex_;
  size_t capacity_ KVDYNO_GUARDED_BY(mutex_);
  // Open addressing, linear probing, a power of two.
  std::vector<Bucket> table_ KVDYNO_GUARDED_BY(mutex_);
  size_t linked_ KVDYNO_GUARDED_BY(mutex_) = 0;
  GhostList ghosts_ KVDYNO_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<BlockSlab>> slabs_ KVDYNO_GUARDED_BY(mutex_);
  // Slabs with a free slot.
  std::array<std::vector<BlockSlab*>, kClasses> partial_ KVDYNO_GUARDED_BY(mutex_);
  std::array<size_t, kClasses> free_slots_ KVDYNO_GUARDED_BY(mutex_){};
  size_t hand_slab_ KVDYNO_GUARDED_BY(mutex_) = 0;
  size_t hand_slot_ KVDYNO_GUARDED_BY(mutex_) = 0;
  size_t slots_ KVDYNO_GUARDED_BY(mutex_) = 0;  // of all slabs
  size_t slab_bytes_ KVDYNO_GUARDED_BY(mutex_) =
      0;  // slabs with their frames, as if they were full
  // Slots among them that were never used, thus not resident.
  size_t untouched_bytes_ KVDYNO_GUARDED_BY(mutex_) = 0;
  Counts counts_ KVDYNO_GUARDED_BY(mutex_);
};

}  // namespace chunkstore
