// StopSignal: makes every client end, and keeps the reason.
// Owns the first failure and the phase it happened in; knows no client.
// Safe from any thread. `requested` is read before every operation and written once in a run, so
// that its cache line stays shared.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "kvdyno/base/status.h"
#include "measure/recorder.h"

namespace kvdyno {

struct Failure {
  Status status;            // ok: no failure
  bool wrong_data = false;  // the engine answered, but not with what was written
};

class StopSignal {
 public:
  bool requested() const { return requested_.load(std::memory_order_relaxed); }

  // The first failure is kept, later ones follow from it or from the stop.
  void Fail(Failure failure) {
    const std::lock_guard lock(mutex_);
    if (failure_.status.ok()) failure_ = std::move(failure);
    requested_.store(true, std::memory_order_relaxed);
  }

  void Interrupt() {
    interrupted_.store(true, std::memory_order_relaxed);
    requested_.store(true, std::memory_order_relaxed);
  }

  bool interrupted() const { return interrupted_.load(std::memory_order_relaxed); }

  Failure failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

 private:
  alignas(kCacheLine) std::atomic<bool> requested_{false};
  alignas(kCacheLine) std::atomic<bool> interrupted_{false};
  mutable std::mutex mutex_;
  Failure failure_;  // guarded by mutex_
};

}  // namespace kvdyno
