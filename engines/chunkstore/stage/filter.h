// Filter: which keys a stage may hold, as a blocked Bloom filter: each key sets six bits in two
// words of one cache line (Putze, Sanders & Singler 2007), so that a lookup costs one cache miss.
// Knows hashes only. Safe from any thread; a key added before is never missed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace chunkstore {

class Filter {
 public:
  // About `bytes` of memory, given out zeroed and untouched.
  explicit Filter(size_t bytes);

  void Add(uint64_t hash);
  bool MayContain(uint64_t hash) const;
  size_t memory() const { return lines_ * kLineBytes; }

 private:
  static constexpr size_t kLineBytes = 64;
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  // The two words of a key, and the bits in each.
  struct Bits {
    std::atomic<uint64_t>* word[2];
    uint64_t mask[2];
  };
  Bits Find(uint64_t hash) const;

  size_t lines_;
  std::unique_ptr<void, Free> memory_;
  std::atomic<uint64_t>* words_;  // in memory_, at the beginning of a line
};

}  // namespace chunkstore
