// One system call, or two.
#include "load/kill.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace kvdyno {

// The kernel ignores SIGKILL from inside for the first process of a PID namespace, as a container's
// is. Leaving at once ends all its threads just as abruptly; the status is a shell's for SIGKILL.
void KillThisProcess() {
  kill(getpid(), SIGKILL);
  _exit(128 + SIGKILL);
}

KillTimer::KillTimer(double seconds) {
  if (seconds <= 0) return;
  thread_ = std::jthread([seconds](const std::stop_token& stopped) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    wake.wait_for(lock, stopped, std::chrono::duration<double>(seconds), [] { return false; });
    if (!stopped.stop_requested()) KillThisProcess();
  });
}

}  // namespace kvdyno
