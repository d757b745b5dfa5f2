#include "memory/block_cache.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "memory/block_shard.h"

namespace chunkstore {
namespace {

constexpr size_t kMaxShards = 16;
// Below that a shard's clock would have too few blocks to choose from.
constexpr size_t kMinShardBytes = 128 << 10;

size_t ShardsFor(size_t capacity) {
  if (capacity == 0) return kMaxShards;  // perhaps it grows later
  size_t shards = kMaxShards;
  while (shards > 1 && capacity / shards < kMinShardBytes) shards /= 2;
  return shards;
}

uint64_t HashOf(uint64_t segment, uint64_t offset) {
  uint64_t hash = (segment * 0x9e3779b97f4a7c15u) ^ offset;
  hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93u;
  hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93u;
  return hash ^ (hash >> 32);
}

BlockFrame* FrameOf(void* block) { return static_cast<BlockFrame*>(block); }

// A block outside of all shards lives in front of its bytes.
size_t AloneBytes(size_t size) { return sizeof(BlockFrame) + size; }

}  // namespace

BlockCache::Handle::Handle(Handle&& other) noexcept
    : block_(std::exchange(other.block_, nullptr)), cache_(std::exchange(other.cache_, nullptr)) {}

BlockCache::Handle& BlockCache::Handle::operator=(Handle&& other) noexcept {
  std::swap(block_, other.block_);
  std::swap(cache_, other.cache_);
  return *this;
}

BlockCache::Handle::~Handle() {
  if (block_ == nullptr) return;
  BlockFrame* frame = FrameOf(block_);
  if (frame->slab != nullptr) {
    frame->pins.fetch_sub(1, std::memory_order_release);
    return;
  }
  cache_->alone_bytes_.fetch_sub(AloneBytes(frame->size), std::memory_order_relaxed);
  delete[] frame->data;
  delete frame;
}

std::string_view BlockCache::Handle::bytes() const {
  assert(block_ != nullptr);
  const BlockFrame* frame = FrameOf(block_);
  return {frame->data, frame->size};
}

BlockCache::BlockCache(size_t capacity) : capacity_(capacity) {
  const size_t shards = ShardsFor(capacity);
  for (size_t i = 0; i < shards; ++i) shards_.push_back(std::make_unique<Shard>(capacity / shards));
}

BlockCache::~BlockCache() = default;

BlockCache::Shard& BlockCache::ShardOf(uint64_t hash) const {
  return *shards_[(hash >> 56) & (shards_.size() - 1)];
}

BlockCache::Handle BlockCache::Lookup(uint64_t segment, uint64_t offset) {
  const uint64_t hash = HashOf(segment, offset);
  Handle handle;
  handle.block_ = ShardOf(hash).Lookup(hash, segment, offset);
  handle.cache_ = this;
  return handle;
}

BlockCache::Handle BlockCache::Insert(uint64_t segment, uint64_t offset, std::string_view bytes) {
  const uint64_t hash = HashOf(segment, offset);
  Handle handle;
  handle.cache_ = this;
  BlockFrame* frame = ShardOf(hash).Insert(hash, segment, offset, bytes);
  if (frame == nullptr) {
    auto alone = std::make_unique<BlockFrame>();
    alone->data = new char[bytes.size()];
    alone->size = static_cast<uint32_t>(bytes.size());
    if (!bytes.empty()) std::memcpy(alone->data, bytes.data(), bytes.size());
    alone_bytes_.fetch_add(AloneBytes(bytes.size()), std::memory_order_relaxed);
    frame = alone.release();
  }
  handle.block_ = frame;
  return handle;
}

bool BlockCache::Holds(uint64_t segment, uint64_t offset) const {
  const uint64_t hash = HashOf(segment, offset);
  return ShardOf(hash).Holds(hash, segment, offset);
}

void BlockCache::Forget(uint64_t segment, uint64_t offset) {
  const uint64_t hash = HashOf(segment, offset);
  ShardOf(hash).Forget(hash, segment, offset);
}

void BlockCache::SetCapacity(size_t bytes) {
  capacity_.store(bytes, std::memory_order_relaxed);
  for (const auto& shard : shards_) shard->SetCapacity(bytes / shards_.size());
}

size_t BlockCache::capacity() const { return capacity_.load(std::memory_order_relaxed); }

size_t BlockCache::memory() const {
  size_t bytes = alone_bytes_.load(std::memory_order_relaxed);
  for (const auto& shard : shards_) bytes += shard->memory();
  return bytes;
}

BlockCache::Counts BlockCache::counts() const {
  Counts counts;
  for (const auto& shard : shards_) shard->AddCounts(&counts);
  return counts;
}

}  // namespace chunkstore
