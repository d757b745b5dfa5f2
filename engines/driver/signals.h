// SignalWatcher: turns SIGINT and SIGTERM into a StopSignal, without handlers or globals.
// Owns one thread. Must be made before any other thread starts, so that all of them inherit the
// blocked signals. A second signal ends the process at once.
#pragma once

#include <thread>

#include "load/stop_signal.h"

namespace kvdyno {

constexpr int kExitInterrupted = 4;

class SignalWatcher {
 public:
  explicit SignalWatcher(StopSignal* stop);
  ~SignalWatcher();
  SignalWatcher(const SignalWatcher&) = delete;
  SignalWatcher& operator=(const SignalWatcher&) = delete;

 private:
  void Watch();

  StopSignal* const stop_;
  int signal_fd_;
  int end_fd_;  // an eventfd: the watcher shall end
  std::thread thread_;
};

}  // namespace kvdyno
