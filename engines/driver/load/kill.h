// Killing this process, as a test of what its engine keeps.
// Owns a thread while it waits; knows neither clients nor engine.
// KillThisProcess is safe from any thread; a timer belongs to one.
#pragma once

#include <thread>

namespace kvdyno {

// SIGKILL: nothing is flushed, closed or written any more.
[[noreturn]] void KillThisProcess();

// Kills this process so many seconds after it was made, unless it is gone by then; 0: never.
class KillTimer {
 public:
  explicit KillTimer(double seconds);

 private:
  std::jthread thread_;
};

}  // namespace kvdyno
