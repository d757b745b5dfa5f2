// Monotonic time for measuring, in nanoseconds.
// Safe from any thread; the origin is arbitrary, only differences mean anything.
#pragma once

#include <time.h>

#include <cstdint>

namespace kvdyno {

inline uint64_t NowNs() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

}  // namespace kvdyno
