#include "concurrency/worker.h"

#include <chrono>
#include <system_error>
#include <utility>

namespace chunkstore {

namespace {

constexpr auto kLong = std::chrono::hours(1);  // someone notifies

}  // namespace

Worker::~Worker() {
  if (!thread_.joinable()) return;
  {
    const kvdyno::MutexLock lock(mutex_);
    stop_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

uint64_t Worker::Do(std::function<void()> task) {
  if (!threaded_ || !HasThread()) {
    task();
    return 0;
  }
  uint64_t number = 0;
  {
    const kvdyno::MutexLock lock(mutex_);
    tasks_.push_back(std::move(task));
    number = ++given_;
  }
  changed_.NotifyAll();
  return number;
}

// A process may have as many threads as it is allowed to.
bool Worker::HasThread() {
  const kvdyno::MutexLock lock(mutex_);
  if (thread_.joinable()) return true;
  try {
    thread_ = std::thread([this] { Loop(); });
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

void Worker::WaitFor(uint64_t task) {
  const kvdyno::MutexLock lock(mutex_);
  while (given_ - tasks_.size() < task) changed_.WaitFor(&mutex_, kLong);
}

void Worker::Wait() {
  const kvdyno::MutexLock lock(mutex_);
  const uint64_t last = given_;
  while (given_ - tasks_.size() < last) changed_.WaitFor(&mutex_, kLong);
}

void Worker::Loop() {
  for (;;) {
    std::function<void()>* task = nullptr;
    {
      const kvdyno::MutexLock lock(mutex_);
      while (tasks_.empty() && !stop_) changed_.WaitFor(&mutex_, kLong);
      if (tasks_.empty()) return;
      task = &tasks_.front();  // a deque's elements stay where they are
    }
    (*task)();
    {
      const kvdyno::MutexLock lock(mutex_);
      tasks_.pop_front();
    }
    changed_.NotifyAll();
  }
}

}  // namespace chunkstore
