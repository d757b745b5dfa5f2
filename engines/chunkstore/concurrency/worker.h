// Worker: a thread that runs tasks one after another, in the order in which they were given: input
// and output that the caller need not wait for. Knows no store. Safe from any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <thread>

#include "kvdyno/base/mutex.h"

namespace chunkstore {

class Worker {
 public:
  // The thread begins with the first task. Without one, or where the system allows no more threads,
  // a task runs where it is given.
  explicit Worker(bool threaded) : threaded_(threaded) {}
  ~Worker();  // when all tasks have run
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Returns the task's number.
  uint64_t Do(std::function<void()> task);
  // Returns when that task has run, and those before it; what they did is visible then.
  void WaitFor(uint64_t task);
  void Wait();  // for all tasks given so far

 private:
  void Loop();
  bool HasThread();

  const bool threaded_;
  kvdyno::Mutex mutex_;
  kvdyno::CondVar changed_;
  std::deque<std::function<void()>> tasks_ KVDYNO_GUARDED_BY(mutex_);  // the first one is running
  uint64_t given_ KVDYNO_GUARDED_BY(mutex_) = 0;
  bool stop_ KVDYNO_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace chunkstore
