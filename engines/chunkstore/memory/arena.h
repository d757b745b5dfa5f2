// Arena: memory given out in pieces and freed as a whole.
// Owns blocks of growing size. Allocate, Copy and bytes are safe from any thread (a lock-free bump,
// a mutex only where a block ends); the rest is not.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kvdyno/base/mutex.h"

namespace chunkstore {

class Arena {
 public:
  // Blocks double from the first one's size up to the largest one's.
  static constexpr size_t kLargestBlock = size_t{1} << 20;

  explicit Arena(size_t first_block_bytes = 4096, size_t largest_block_bytes = kLargestBlock);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  char* Allocate(size_t bytes);  // aligned to 8
  std::string_view Copy(std::string_view bytes);
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }  // taken from the system

 private:
  struct Block;
  Block* NewBlock(size_t size);
  char* AllocateSlowly(size_t bytes, const Block* full);

  const size_t largest_block_bytes_;
  std::atomic<Block*> current_;  // the newest; each knows its predecessor
  std::atomic<size_t> bytes_{0};
  kvdyno::Mutex grow_;
};

}  // namespace chunkstore
