// Giving way: a thread that merges in the background lets those go first that wait for its processor.
// A query that wakes up while every processor is busy would otherwise wait for the end of a slice, and Linux's last
// milliseconds. A lower priority does not shorten the slice, and the lowest starves merges.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstddef>

namespace sampling {

// How many callers wait for what this thread does; null: a caller does it itself, and gives way to none.
inline thread_local constinit const std::atomic<int>* waiting_callers = nullptr;

// To be called in each step of a long loop, with the step's number. Steps take nanoseconds.
inline void GiveWay(size_t step) {
  constexpr size_t kSteps = 4096;  // less than 100 microseconds
  if (step % kSteps != kSteps - 1 || waiting_callers == nullptr) return;
  if (waiting_callers->load(std::memory_order_relaxed) == 0) ::sched_yield();
}

}  // namespace sampling
