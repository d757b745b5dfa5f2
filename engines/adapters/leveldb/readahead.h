// Readahead for compactions, whose inputs are read from start to end, of files that otherwise carry
// random-access advice.
// Knows offsets only: the reader asks the kernel. Safe from any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace kvdyno::level {

// Marks its thread as doing background work for as long as it lives.
class BackgroundWork {
 public:
  BackgroundWork() { here_ = true; }
  ~BackgroundWork() { here_ = false; }
  BackgroundWork(const BackgroundWork&) = delete;
  BackgroundWork& operator=(const BackgroundWork&) = delete;

  static bool here() { return here_; }

 private:
  inline static thread_local bool here_ = false;
};

// The part of a file that should be read ahead; nothing when it is empty.
struct Stretch {
  uint64_t start = 0;
  uint64_t size = 0;
};

// What one file's background reads ask for: the rest of a window, once when they enter it.
class Readahead {
 public:
  static constexpr uint64_t kWindow = 256 << 10;
  static constexpr uint64_t kAlignment = 64 << 10;  // of a start; a multiple of every page size

  explicit Readahead(uint64_t file_size) : file_size_(file_size) {}

  // For a read of `size` bytes at `offset`.
  Stretch Before(uint64_t offset, uint64_t size) {
    if (!BackgroundWork::here()) return {};
    const uint64_t window = (offset + size) / kWindow;
    if (entered_.exchange(window, std::memory_order_relaxed) == window) return {};
    const uint64_t start = offset / kAlignment * kAlignment;
    const uint64_t end = std::min((window + 1) * kWindow, file_size_);
    return {start, end - std::min(start, end)};
  }

 private:
  const uint64_t file_size_;
  std::atomic<uint64_t> entered_ = UINT64_MAX;
};

}  // namespace kvdyno::level
