// The tuner's thread: looks at the store once a window, lets ADOC's core decide, and turns
// RocksDB's knobs. Turning one may wait as long as writers do, hence a thread of its own.
// Owns the thread and the knobs' values; knows no session. Counters may be read from any thread.
#pragma once

#include <rocksdb/db.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "kvdyno/api/adapter.h"
#include "kvdyno/tuners/adoc.h"
#include "signals.h"

namespace kvdyno::adoc {

class Tuner {
 public:
  struct Settings {
    tuners::AdocMode mode = tuners::AdocMode::kPaper;
    tuners::AdocLimits limits;
    tuners::AdocKnobs start;         // what the store was opened with
    uint64_t batches_in_level1 = 4;  // level 1's size, in batches
    double window_seconds = 1;
  };

  // The store and the log outlive the tuner, which starts at once.
  Tuner(const Settings& settings, std::shared_ptr<Signals> signals, rocksdb::DB* db,
        EventLog* events);
  // Returns as soon as a knob that is being turned has been; no later than writers that wait.
  ~Tuner();
  Tuner(const Tuner&) = delete;
  Tuner& operator=(const Tuner&) = delete;

  void Sample(std::vector<Counter>* counters) const;

 private:
  using Values = std::unordered_map<std::string, std::string>;

  void Run();
  // Waits for the window's end; false: the tuner is to stop.
  bool Wait();
  tuners::AdocWindow Observe(double seconds);
  void Apply(const tuners::AdocDecision& decision);
  void TurnThreadsAndRate(const tuners::AdocDecision& decision);
  void TurnBatch(const tuners::AdocDecision& decision);
  void AddEvent(const char* knob, tuners::AdocReason reason, uint64_t begin_ns, uint64_t from,
                uint64_t to, const rocksdb::Status& done);

  const Settings settings_;
  const std::shared_ptr<Signals> signals_;
  rocksdb::DB* const db_;
  EventLog* const events_;
  tuners::AdocCore core_;
  tuners::AdocKnobs knobs_;  // of the thread

  // For sampling.
  std::atomic<int64_t> threads_;
  std::atomic<uint64_t> batch_;
  std::atomic<uint64_t> delayed_write_bytes_per_s_;
  std::array<std::atomic<uint64_t>, tuners::kAdocReasons> actions_{};
  std::atomic<uint64_t> failures_ = 0;

  std::mutex mutex_;
  std::condition_variable stop_changed_;
  bool stop_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace kvdyno::adoc
