// Waiting for intended starts. A Pacer belongs to its thread; only the stop signal is shared.
#include "load/pacer.h"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace kvdyno {

// Sleeps until shortly before, in pieces short enough to notice that the phase ends, then spins:
// waking up takes tens of microseconds, which would count as latency. Spinning takes a CPU from
// the engine, so it is kept shorter than a scheduler's tick.
bool Pacer::WaitUntil(uint64_t intended_ns, const std::atomic<uint64_t>& deadline_ns) const {
  constexpr uint64_t kPieceNs = 5'000'000;
  constexpr uint64_t kSpinNs = 50'000;
  for (uint64_t now = clock_.NowNs();; now = clock_.NowNs()) {
    const uint64_t until = std::min<uint64_t>(intended_ns, deadline_ns);
    if (now >= until) break;
    if (stop_->requested()) return false;
    if (until - now <= kSpinNs) continue;
    const uint64_t pause = std::min(until - now - kSpinNs, kPieceNs);
    std::this_thread::sleep_for(std::chrono::nanoseconds(pause));
  }
  return intended_ns < deadline_ns;
}

void WakeUpPrecisely() { prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); }

}  // namespace kvdyno
