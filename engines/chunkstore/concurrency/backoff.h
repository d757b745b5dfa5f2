// Backoff: waits for another thread, which is about to finish, or needs this processor, or is slow.
// One thread.
#pragma once

#include <chrono>
#include <thread>

#include "kvdyno/base/mutex.h"

namespace chunkstore {

class Backoff {
 public:
  void Wait() {
    ++rounds_;
    if (rounds_ <= kSpins) {
      kvdyno::SpinPause();
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
