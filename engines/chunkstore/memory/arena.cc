#include "memory/arena.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace chunkstore {

// Followed by `size` bytes. Threads that find a block full leave `used` beyond `size`.
struct alignas(8) Arena::Block {
  Block* previous;
  size_t size;
  std::atomic<size_t> used;
  char* data() { return reinterpret_cast<char*>(this + 1); }
};

Arena::Arena(size_t first_block_bytes, size_t largest_block_bytes)
    : largest_block_bytes_(largest_block_bytes) {
  Block* block = NewBlock(std::max<size_t>(first_block_bytes, 256) - sizeof(Block));
  block->previous = nullptr;
  current_.store(block, std::memory_order_release);
}

Arena::~Arena() {
  for (Block* block = current_.load(std::memory_order_acquire); block != nullptr;) {
    Block* previous = block->previous;
    std::free(block);
    block = previous;
  }
}

Arena::Block* Arena::NewBlock(size_t size) {
  void* memory = std::malloc(sizeof(Block) + size);
  if (memory == nullptr) throw std::bad_alloc();
  bytes_.fetch_add(sizeof(Block) + size, std::memory_order_relaxed);
  auto* block = new (memory) Block;
  block->size = size;
  block->used.store(0, std::memory_order_relaxed);
  return block;
}

char* Arena::Allocate(size_t bytes) {
  bytes = (bytes + 7) & ~size_t{7};
  Block* block = current_.load(std::memory_order_acquire);
  // Asks first, so that a piece which is too large leaves the block as it is.
  if (block->used.load(std::memory_order_relaxed) + bytes <= block->size) {
    const size_t at = block->used.fetch_add(bytes, std::memory_order_relaxed);
    if (at + bytes <= block->size) return block->data() + at;
  }
  return AllocateSlowly(bytes, block);
}

char* Arena::AllocateSlowly(size_t bytes, const Block* full) {
  const kvdyno::MutexLock lock(grow_);
  Block* current = current_.load(std::memory_order_relaxed);
  if (current != full) {  // another thread has grown the arena
    const size_t at = current->used.fetch_add(bytes, std::memory_order_relaxed);
    if (at + bytes <= current->size) return current->data() + at;
  }
  const size_t next = std::min((current->size + sizeof(Block)) * 2, largest_block_bytes_);
  if (bytes > next / 4) {  // alone, behind the current block, whose rest stays in use
    Block* block = NewBlock(bytes);
    block->used.store(bytes, std::memory_order_relaxed);
    block->previous = current->previous;
    current->previous = block;
    return block->data();
  }
  Block* block = NewBlock(next - sizeof(Block));
  block->used.store(bytes, std::memory_order_relaxed);
  block->previous = current;
  current_.store(block, std::memory_order_release);
  return block->data();
}

std::string_view Arena::Copy(std::string_view bytes) {
  if (bytes.empty()) return {};
  char* copy = Allocate(bytes.size());
  std::memcpy(copy, bytes.data(), bytes.size());
  return {copy, bytes.size()};
}

}  // namespace chunkstore
