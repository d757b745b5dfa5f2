// CallGate: counts the calls inside the store, so that a close can refuse new ones and wait for the
// rest. Each call uses one of a few counters, each on its own cache line: two uncontended atomic
// additions. Knows no store. All methods are safe from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "concurrency/backoff.h"

namespace chunkstore {

class CallGate {
 public:
  // A call's stay. Stays may nest. Not copied, not shared between threads.
  class Call {
   public:
    explicit Call(CallGate* gate) : inside_(gate->CounterOfThread()) {
      // Sequentially consistent, like Close and WaitForCalls: either the closer finds this call, or
      // the call finds the gate closed.
      inside_->fetch_add(1);
      open_ = !gate->closed_.load();
    }
    ~Call() { inside_->fetch_sub(1); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    // False: the gate was closed before. Then the call must do nothing.
    bool open() const { return open_; }

   private:
    std::atomic<size_t>* inside_;
    bool open_;
  };

  // A gate begins closed.
  void Open() { closed_.store(false); }
  // Whether it was open until now.
  bool Close() { return !closed_.exchange(true); }
  bool closed() const { return closed_.load(); }
  // Returns when every call that found the gate open has ended. Not from inside a call.
  void WaitForCalls() const {
    for (const Counter& counter : counters_) {
      for (Backoff backoff; counter.inside.load() != 0;) backoff.Wait();
    }
  }

 private:
  struct alignas(64) Counter {
    std::atomic<size_t> inside{0};
  };
  std::atomic<size_t>* CounterOfThread() {
    static std::atomic<size_t> threads{0};
    thread_local const size_t mine = threads.fetch_add(1, std::memory_order_relaxed);
    return &counters_[mine % counters_.size()].inside;
  }

  std::atomic<bool> closed_{true};
  std::array<Counter, 16> counters_;
};

}  // namespace chunkstore
