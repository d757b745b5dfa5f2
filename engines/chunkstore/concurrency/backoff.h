// Backoff: waits for another thread, which is about to finish, or needs this processor, or is slow.
// One thread.
#pragma once

#include <chrono>
#include <thread>

namespace chunkstore {

class Backoff {
 public:
  void Wait() {
    ++rounds_;
    if (rounds_ <= kSpins) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    } else if (rounds_ <= kSpins + kYields) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

 private:
  static constexpr int kSpins = 64;
  static constexpr int kYields = 16;
  int rounds_ = 0;
};

}  // namespace chunkstore
