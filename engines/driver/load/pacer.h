// Pacer: the intended starts of one thread in an open loop: when the next is due, waiting for it, and those that the
// phase's end found not started.
// Owns the thread's schedule; knows no operation.
// One object per thread. The stop signal outlives it.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "kvdyno/base/random.h"
#include "kvdyno/base/status.h"
#include "kvdyno/generate/arrivals.h"
#include "load/stop_signal.h"
#include "measure/fast_clock.h"

namespace kvdyno {

class Pacer {
 public:
  Pacer(const FastClock& clock, const StopSignal* stop) : clock_(clock), stop_(stop) {}

  // Begins a phase that started at `start_ns` of the clock. InvalidArgument as Arrivals::Make.
  Status Begin(const ArrivalSpec& spec, uint64_t start_ns) {
    start_ns_ = start_ns;
    unstarted_until_ns_ = 0;
    return Arrivals::Make(spec, &arrivals_);
  }

  // The next intended start, of the clock.
  uint64_t Next(Random& random) { return start_ns_ + arrivals_.NextNs(random); }

  // Returns at `intended_ns`; false: the deadline comes first, or the run stops. Another thread may
  // move the deadline meanwhile.
  bool WaitUntil(uint64_t intended_ns, const std::atomic<uint64_t>& deadline_ns) const;

  // The phase ended at that time of the clock, though more was to be started.
  void EndAt(uint64_t ns) { unstarted_until_ns_ = ns - start_ns_; }

  // After the phase: calls book(waited_ns, weight) for the intended starts before its end that were
  // not started. Some of very many stand for `weight` others, so that this takes no longer than a
  // moment. Does nothing unless EndAt was called.
  template <typename Book>
  void BookUnstarted(Random& random, const Book& book) {
    constexpr uint64_t kBookedMax = uint64_t{1} << 20;
    const uint64_t until = std::exchange(unstarted_until_ns_, 0);
    if (until == 0) return;
    const uint64_t weight = arrivals_.CountBefore(until) / kBookedMax + 1;
    arrivals_.ThinOut(weight);
    for (uint64_t at = arrivals_.NextNs(random); at < until; at = arrivals_.NextNs(random)) {
      book(until - at, weight);
    }
  }

 private:
  const FastClock clock_;
  const StopSignal* const stop_;
  Arrivals arrivals_;
  uint64_t start_ns_ = 0;
  uint64_t unstarted_until_ns_ = 0;  // of the phase; 0: all that was dealt was started
};

// Makes the calling thread wake up when it means to, not up to 50 microseconds later.
void WakeUpPrecisely();

}  // namespace kvdyno
