#include "memory/block_shard.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace chunkstore {
namespace {

// A shard has about this many slabs: few enough to keep track of, enough that the free slots of one
// do not matter.
constexpr size_t kSlabsPerShard = 64;
constexpr size_t kMinSlabBytes = 16 << 10;
constexpr size_t kMaxSlabBytes = 1 << 20;

uint32_t GhostHash(uint64_t hash) { return static_cast<uint32_t>(hash); }

}  // namespace

size_t BlockCache::Shard::ClassOf(size_t bytes) {
  const size_t size_class = std::max<size_t>(1, (bytes + kClassStep - 1) / kClassStep);
  return size_class < kClasses ? size_class : 0;
}

BlockFrame* BlockCache::Shard::Lookup(uint64_t hash, uint64_t segment, uint64_t offset) {
  const kvdyno::MutexLock lock(mutex_);
  const size_t at = FindBucket(hash, segment, offset);
  if (at == table_.size()) {
    ++counts_.misses;
    if (ghosts_.Take(GhostHash(hash))) ++counts_.ghost_hits;
    return nullptr;
  }
  ++counts_.hits;
  BlockFrame* frame = table_[at].frame;
  frame->referenced = true;
  frame->pins.fetch_add(1, std::memory_order_relaxed);
  return frame;
}

BlockFrame* BlockCache::Shard::Insert(uint64_t hash, uint64_t segment, uint64_t offset,
                                      std::string_view bytes) {
  const kvdyno::MutexLock lock(mutex_);
  BlockFrame* frame = nullptr;
  const size_t at = FindBucket(hash, segment, offset);
  if (at < table_.size()) {
    frame = table_[at].frame;
  } else {
    ShrinkToCapacity();  // pinned blocks may have been in the way before
    if (bytes.size() > capacity_) return nullptr;
    if (linked_ * 4 >= table_.size() * 3) GrowTable();
    frame = Take(bytes.size());
    if (frame == nullptr) return nullptr;
    frame->segment = segment;
    frame->offset = offset;
    frame->hash = hash;
    frame->size = static_cast<uint32_t>(bytes.size());
    if (!bytes.empty()) std::memcpy(frame->data, bytes.data(), bytes.size());
    frame->referenced = false;
    Link(frame);
    ++counts_.inserts;
  }
  frame->pins.fetch_add(1, std::memory_order_relaxed);
  return frame;
}

bool BlockCache::Shard::Holds(uint64_t hash, uint64_t segment, uint64_t offset) const {
  const kvdyno::MutexLock lock(mutex_);
  return FindBucket(hash, segment, offset) < table_.size();
}

void BlockCache::Shard::Forget(uint64_t hash, uint64_t segment, uint64_t offset) {
  const kvdyno::MutexLock lock(mutex_);
  const size_t at = FindBucket(hash, segment, offset);
  if (at >= table_.size()) return;
  BlockFrame* frame = table_[at].frame;
  if (frame->pins.load(std::memory_order_acquire) > 0) return;
  if (frame->slab->size_class == 0) {  // of its own size: the hand takes it with its slab
    frame->referenced = false;
    return;
  }
  Unlink(frame);
  Release(frame);
}

void BlockCache::Shard::SetCapacity(size_t capacity) {
  const kvdyno::MutexLock lock(mutex_);
  capacity_ = capacity;
  ShrinkToCapacity();
}

size_t BlockCache::Shard::memory() const {
  const kvdyno::MutexLock lock(mutex_);
  return slab_bytes_ - untouched_bytes_ + TableBytes();
}

void BlockCache::Shard::AddCounts(Counts* counts) const {
  const kvdyno::MutexLock lock(mutex_);
  counts->hits += counts_.hits;
  counts->misses += counts_.misses;
  counts->ghost_hits += counts_.ghost_hits;
  counts->inserts += counts_.inserts;
  counts->evictions += counts_.evictions;
}

// --- the hash table

size_t BlockCache::Shard::FindBucket(uint64_t hash, uint64_t segment, uint64_t offset) const {
  if (table_.empty()) return 0;
  const size_t mask = table_.size() - 1;
  for (size_t at = hash & mask; table_[at].frame != nullptr; at = (at + 1) & mask) {
    const BlockFrame* frame = table_[at].frame;
    if (table_[at].hash == hash && frame->segment == segment && frame->offset == offset) return at;
  }
  return table_.size();
}

void BlockCache::Shard::Link(BlockFrame* frame) {
  const size_t mask = table_.size() - 1;
  size_t at = frame->hash & mask;
  while (table_[at].frame != nullptr) at = (at + 1) & mask;
  table_[at] = {frame->hash, frame};
  frame->linked = true;
  ++linked_;
}

size_t BlockCache::Shard::BucketOf(const BlockFrame* frame) const {
  const size_t mask = table_.size() - 1;
  size_t at = frame->hash & mask;
  while (table_[at].frame != frame) at = (at + 1) & mask;
  return at;
}

void BlockCache::Shard::Unlink(BlockFrame* frame) {
  const size_t mask = table_.size() - 1;
  size_t hole = BucketOf(frame);
  // Those behind move up, unless that would put them before their own place.
  for (size_t at = (hole + 1) & mask; table_[at].frame != nullptr; at = (at + 1) & mask) {
    const size_t home = table_[at].hash & mask;
    if (((at - home) & mask) >= ((at - hole) & mask)) {
      table_[hole] = table_[at];
      hole = at;
    }
  }
  table_[hole] = {};
  frame->linked = false;
  --linked_;
}

void BlockCache::Shard::GrowTable() {
  std::vector<Bucket> old(std::max<size_t>(64, table_.size() * 2));
  old.swap(table_);
  linked_ = 0;
  for (const Bucket& bucket : old) {
    if (bucket.frame != nullptr) Link(bucket.frame);
  }
}

// --- slabs and the clock

// An unused frame that fits, off the free list; evicts as needed. Null when all is pinned or the
// block is too large for what is here.
BlockFrame* BlockCache::Shard::Take(size_t bytes) {
  const size_t size_class = ClassOf(bytes);
  // Twice round: once to take the reference bits away, once to evict.
  size_t steps = 2 * (slots_ + slabs_.size()) + 2;
  while (true) {
    if (!partial_[size_class].empty()) return PopFree(size_class);
    if (Reserved() + SlabBytes(size_class, bytes) <= capacity_) {
      return AddSlab(size_class, bytes) == nullptr ? nullptr : PopFree(size_class);
    }
    if (steps-- == 0 || !StepClock(size_class)) return nullptr;
  }
}

BlockFrame* BlockCache::Shard::PopFree(size_t size_class) {
  BlockSlab* slab = partial_[size_class].back();
  BlockFrame* frame = slab->free;
  if (frame != nullptr) {
    slab->free = frame->next_free;
  } else {
    frame = &slab->frames[slab->touched];
    frame->data = slab->data() + slab->slot_bytes * slab->touched++;
    frame->slab = slab;
    untouched_bytes_ -= slab->slot_bytes;
  }
  frame->used = true;
  --free_slots_[size_class];
  if (++slab->used == slab->slots) partial_[size_class].pop_back();
  return frame;
}

// What a slab for such a block costs, frames included.
size_t BlockCache::Shard::SlabBytes(size_t size_class, size_t bytes) const {
  if (size_class == 0) return bytes + sizeof(BlockFrame);
  size_t target = std::clamp(capacity_ / kSlabsPerShard, kMinSlabBytes, kMaxSlabBytes);
  target = std::min(target, capacity_ / 8);  // of a tiny cache
  const size_t slot = size_class * kClassStep;
  return std::max<size_t>(1, target / slot) * (slot + sizeof(BlockFrame));
}

BlockSlab* BlockCache::Shard::AddSlab(size_t size_class, size_t bytes) {
  auto slab = std::make_unique<BlockSlab>();
  slab->bytes = SlabBytes(size_class, bytes);
  slab->size_class = size_class;
  if (size_class == 0) {
    slab->slots = 1;
    slab->slot_bytes = bytes;
    slab->heap.reset(new char[bytes]);
  } else {
    slab->slot_bytes = size_class * kClassStep;
    slab->slots = static_cast<uint32_t>(slab->bytes / (slab->slot_bytes + sizeof(BlockFrame)));
    if (!slab->pages.Resize(slab->slots * slab->slot_bytes)) return nullptr;
  }
  slab->frames = std::make_unique<BlockFrame[]>(slab->slots);
  slots_ += slab->slots;
  slab_bytes_ += slab->bytes;
  untouched_bytes_ += slab->slots * slab->slot_bytes;
  free_slots_[size_class] += slab->slots;
  slab->partial_at = partial_[size_class].size();
  partial_[size_class].push_back(slab.get());
  slabs_.push_back(std::move(slab));
  return slabs_.back().get();
}

// No more slots are taken from it.
void BlockCache::Shard::RemovePartial(BlockSlab* slab) {
  std::vector<BlockSlab*>& partial = partial_[slab->size_class];
  partial[slab->partial_at] = partial.back();
  partial[slab->partial_at]->partial_at = slab->partial_at;
  partial.pop_back();
  free_slots_[slab->size_class] -= slab->slots - slab->used;
}

// Off the list of partial slabs already; what is still in it is gone.
void BlockCache::Shard::RemoveSlab(size_t at) {
  BlockSlab& slab = *slabs_[at];
  slots_ -= slab.slots;
  slab_bytes_ -= slab.bytes;
  untouched_bytes_ -= (slab.slots - slab.touched) * slab.slot_bytes;
  slabs_[at] = std::move(slabs_.back());
  slabs_.pop_back();
  if (hand_slab_ == at) {  // what came here from the end is young: its turn is last
    ++hand_slab_;
    hand_slot_ = 0;
  }
}

// Moves the hand on by one frame, for a block of this class. False when there is nothing at all.
bool BlockCache::Shard::StepClock(size_t size_class) {
  if (slabs_.empty()) return false;
  if (hand_slab_ >= slabs_.size()) hand_slab_ = hand_slot_ = 0;
  const size_t at = hand_slab_;
  BlockSlab& slab = *slabs_[at];
  if (hand_slot_ >= slab.touched) {
    ++hand_slab_;
    hand_slot_ = 0;
    return true;
  }
  BlockFrame* frame = &slab.frames[hand_slot_++];
  if (!frame->used || frame->pins.load(std::memory_order_acquire) > 0) return true;
  if (frame->linked && frame->referenced) {
    frame->referenced = false;
    return true;
  }
  Evict(frame);
  if (slab.size_class == 0) {
    RemovePartial(&slab);
    RemoveSlab(at);
  } else if (slab.size_class != size_class && free_slots_[slab.size_class] >= slab.slots) {
    // Slots of another class are of no use here, and these would fill a slab.
    Vacate(at);
  }
  return true;
}

// Moves the blocks of a slab into free slots elsewhere, of which there must be enough, and gives
// the slab back; nothing happens when a block is pinned there.
void BlockCache::Shard::Vacate(size_t at) {
  BlockSlab& slab = *slabs_[at];
  for (uint32_t i = 0; i < slab.touched; ++i) {
    if (slab.frames[i].pins.load(std::memory_order_acquire) > 0) return;
  }
  RemovePartial(&slab);
  for (uint32_t i = 0; i < slab.touched; ++i) {
    BlockFrame& from = slab.frames[i];
    if (!from.linked) continue;
    BlockFrame* to = PopFree(slab.size_class);
    to->segment = from.segment;
    to->offset = from.offset;
    to->hash = from.hash;
    to->size = from.size;
    to->referenced = from.referenced;
    std::memcpy(to->data, from.data, from.size);
    table_[BucketOf(&from)].frame = to;
    to->linked = true;
  }
  RemoveSlab(at);
}

void BlockCache::Shard::Evict(BlockFrame* frame) {
  if (frame->linked) {
    if (linked_ > ghosts_.keys() || linked_ * 4 < ghosts_.keys()) {
      ghosts_.Resize(linked_ + linked_ / 8);
    }
    ghosts_.Add(GhostHash(frame->hash));
    Unlink(frame);
    ++counts_.evictions;
  }
  Release(frame);
}

void BlockCache::Shard::Release(BlockFrame* frame) {
  BlockSlab* slab = frame->slab;
  frame->used = false;
  frame->next_free = slab->free;
  slab->free = frame;
  ++free_slots_[slab->size_class];
  if (slab->used-- == slab->slots) {
    slab->partial_at = partial_[slab->size_class].size();
    partial_[slab->size_class].push_back(slab);
  }
}

// Evicts what is in the slab and gives it back; false when a block is pinned there.
bool BlockCache::Shard::Drain(size_t at) {
  BlockSlab& slab = *slabs_[at];
  for (uint32_t i = 0; i < slab.touched; ++i) {
    BlockFrame* frame = &slab.frames[i];
    if (frame->used && frame->pins.load(std::memory_order_acquire) == 0) Evict(frame);
  }
  if (slab.used > 0) return false;
  RemovePartial(&slab);
  RemoveSlab(at);
  return true;
}

void BlockCache::Shard::ShrinkToCapacity() {
  for (size_t tries = slabs_.size(); tries > 0 && Reserved() > capacity_; --tries) {
    if (hand_slab_ >= slabs_.size()) hand_slab_ = 0;
    hand_slot_ = 0;
    if (!Drain(hand_slab_)) ++hand_slab_;
  }
  if (!slabs_.empty() || capacity_ > 0) return;
  std::vector<Bucket>().swap(table_);
  ghosts_.Resize(0);
}

}  // namespace chunkstore
