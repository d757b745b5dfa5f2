// Calibration of FastClock. Owns nothing; called once, before threads start.
#include "measure/fast_clock.h"

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

namespace kvdyno {
namespace {

#if defined(__x86_64__)
bool KernelTrustsCounter() {
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string source;
  return file >> source && source == "tsc";
}

struct Reading {
  uint64_t ns;
  uint64_t ticks;
};

// The closest of a few pairs: a pair that was torn apart by an interrupt is not the closest.
Reading ReadBoth() {
  Reading best{};
  uint64_t gap = UINT64_MAX;
  for (int i = 0; i < 16; ++i) {
    const uint64_t before = __rdtsc();
    const uint64_t ns = kvdyno::NowNs();
    const uint64_t after = __rdtsc();
    if (after - before < gap) {
      gap = after - before;
      best = {ns, before + gap / 2};
    }
  }
  return best;
}
#endif

}  // namespace

FastClock FastClock::Calibrate() {
  FastClock clock;
#if defined(__x86_64__)
  if (!KernelTrustsCounter()) return clock;
  const Reading first = ReadBoth();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const Reading last = ReadBoth();
  if (last.ticks <= first.ticks) return clock;
  const double ns_per_tick =
      static_cast<double>(last.ns - first.ns) / static_cast<double>(last.ticks - first.ticks);
  clock.multiplier_ = static_cast<uint64_t>(ns_per_tick * (uint64_t{1} << kShift));
#endif
  return clock;
}

}  // namespace kvdyno
