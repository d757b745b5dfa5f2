// The threads of a run. A Crew owns them and joins them when it dies; jobs are handed over under
// its mutex.
#include "load/crew.h"

namespace kvdyno {

Crew::Crew(uint64_t size) {
  for (uint64_t i = 0; i < size; ++i) threads_.emplace_back([this, i] { Work(i); });
}

Crew::~Crew() {
  {
    const std::lock_guard lock(mutex_);
    dismissed_ = true;
  }
  started_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Crew::Run(const std::function<void(uint64_t)>& job) {
  std::unique_lock lock(mutex_);
  job_ = &job;
  busy_ = threads_.size();
  ++generation_;
  started_.notify_all();
  finished_.wait(lock, [&] { return busy_ == 0; });
}

void Crew::Work(uint64_t number) {
  uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    started_.wait(lock, [&] { return dismissed_ || generation_ != seen; });
    if (dismissed_) return;
    seen = generation_;
    const auto& job = *job_;
    lock.unlock();
    job(number);
    lock.lock();
    if (--busy_ == 0) finished_.notify_one();
  }
}

}  // namespace kvdyno
