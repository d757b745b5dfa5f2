// The scheduler's thread: looks at the clients' load once a window and gives the limiter what is
// left. While deep compactions are held, others may take as many slots more as those hold.
// Owns the thread; calls nothing that waits for writers. Counters may be read from any thread.
#pragma once

#include <rocksdb/concurrent_task_limiter.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "kvdyno/api/adapter.h"
#include "kvdyno/tuners/silk.h"
#include "limiter.h"
#include "load_meter.h"

namespace kvdyno::silk {

class Scheduler {
 public:
  struct Settings {
    tuners::SilkSettings share;
    double window_seconds = 0.01;
    int slots = 1;  // compactions at a time, held ones apart
  };

  // Everything that is passed outlives the scheduler, which starts at once.
  Scheduler(const Settings& settings, const LoadMeter* meter, Limiter* limiter,
            rocksdb::ConcurrentTaskLimiter* slots, EventLog* events);
  // Ends the thread within one step; the share stays as it is.
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  void Sample(std::vector<Counter>* counters) const;

 private:
  void Run();
  // Waits for the window's end; false: the scheduler is to stop.
  bool Wait();
  void Step(uint64_t now_ns);
  void NotePeak(uint64_t now_ns, bool peak);
  void LendSlots();

  const Settings settings_;
  const LoadMeter& meter_;
  Limiter& limiter_;
  rocksdb::ConcurrentTaskLimiter& slots_;
  EventLog& events_;

  // The thread's.
  tuners::SilkShare share_;
  uint64_t looked_ns_;
  uint64_t seen_bytes_;
  uint64_t peak_begin_ns_ = 0;  // 0: there is none
  int lent_ = 0;

  // For sampling.
  std::atomic<uint64_t> peaks_ = 0;
  std::atomic<int> slots_in_force_;

  std::mutex mutex_;
  std::condition_variable stop_changed_;
  bool stop_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace kvdyno::silk
