// The thread that waits for signals. It shares only the stop signal with others.
#include "signals.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>

namespace kvdyno {
namespace {

int BlockedSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signalfd(-1, &signals, SFD_CLOEXEC);
}

}  // namespace

SignalWatcher::SignalWatcher(StopSignal* stop)
    : stop_(stop),
      signal_fd_(BlockedSignals()),
      end_fd_(eventfd(0, EFD_CLOEXEC)),
      thread_([this] { Watch(); }) {}

SignalWatcher::~SignalWatcher() {
  const uint64_t one = 1;
  if (write(end_fd_, &one, sizeof(one)) != sizeof(one)) std::perror("eventfd");
  thread_.join();
  close(signal_fd_);
  close(end_fd_);
}

void SignalWatcher::Watch() {
  pollfd sources[] = {{signal_fd_, POLLIN, 0}, {end_fd_, POLLIN, 0}};
  for (;;) {
    if (poll(sources, 2, -1) < 0) continue;
    if (sources[1].revents != 0) return;
    signalfd_siginfo info;
    if (read(signal_fd_, &info, sizeof(info)) != sizeof(info)) continue;
    if (stop_->interrupted()) _exit(kExitInterrupted);
    std::fputs("stopping; a second signal ends at once\n", stderr);
    stop_->Interrupt();
  }
}

}  // namespace kvdyno
