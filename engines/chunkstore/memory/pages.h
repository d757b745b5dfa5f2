// Pages: memory straight from the system, so that giving it back really lowers the resident set.
// Owns mappings, those kept for the next use, and the one buffer that grows. Not thread-safe but
// for SparePages: the owner's lock guards them.
#pragma once

#include <cstddef>
#include <vector>

#include "kvdyno/base/mutex.h"

namespace chunkstore {

inline constexpr size_t kPageBytes = 4096;

constexpr size_t RoundUp(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

// A private anonymous mapping; zeros, resident only where it was touched. Movable.
class Pages {
 public:
  Pages() = default;
  explicit Pages(size_t bytes) { Resize(bytes); }  // rounded up to whole pages
  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&& other) noexcept;
  ~Pages();

  // May move; keeps the content up to the smaller size. False, and nothing happens, when the system
  // refuses.
  bool Resize(size_t bytes);
  // Gives the memory from this offset on back; it reads as zeros again.
  void Discard(size_t from);

  char* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
};

// Mappings that were given up, for the next who needs one: pages that were touched before cost no
// fault. Safe from any thread.
class SparePages {
 public:
  explicit SparePages(size_t most) : most_(most) {}  // bytes
  // The last one given, of whatever size and content; empty if there is none.
  Pages Take();
  // Goes back to the system if there are enough already.
  void Give(Pages pages);
  size_t bytes() const;
  size_t most() const { return most_; }

 private:
  const size_t most_;
  mutable kvdyno::Mutex mutex_;
  std::vector<Pages> pages_ KVDYNO_GUARDED_BY(mutex_);
  size_t bytes_ KVDYNO_GUARDED_BY(mutex_) = 0;
};

// One contiguous buffer that grows by appending. Small ones come from the heap (a mapping each
// would exhaust the kernel's limit with many), large ones are mapped, so that growing copies
// nothing.
class GrowingBuffer {
 public:
  // `spare`, which must outlive the buffer: where mappings come from and go to; null: the system.
  explicit GrowingBuffer(SparePages* spare = nullptr) : spare_(spare) {}
  GrowingBuffer(const GrowingBuffer&) = delete;
  GrowingBuffer& operator=(const GrowingBuffer&) = delete;
  ~GrowingBuffer();

  // Room for `bytes` at the end, multiples of 8; valid until the next Append or Shrink.
  char* Append(size_t bytes);
  // Room for so many bytes in all: what grows step by step moves. Without advice to use huge pages:
  // where a hypervisor takes free ones back, the first touch of each waits for it.
  void Reserve(size_t bytes);
  void ShrinkToFit();

  const char* data() const { return data_; }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }

 private:
  void Reallocate(size_t capacity);
  static constexpr size_t kMapFrom = 64 << 10;

  SparePages* spare_;
  char* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
  Pages pages_;  // empty while the buffer is on the heap
};

}  // namespace chunkstore
