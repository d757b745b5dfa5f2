// Sleeping beside clients: never spinning, which would take a CPU from what is measured.
// Safe from any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>

namespace kvdyno {

// Sleeps until NowNs() is `ns`, at once if it has passed. False if a stop was requested meanwhile.
inline bool SleepUntil(uint64_t ns, const std::stop_token& stopped) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  const std::chrono::steady_clock::time_point time{std::chrono::nanoseconds(ns)};
  wake.wait_until(lock, stopped, time, [] { return false; });
  return !stopped.stop_requested();
}

}  // namespace kvdyno
