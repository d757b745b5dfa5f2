// Observer: watches the clients while they work, and reports at intervals: a row of the
// series, events, a progress line, a status line.
// Owns one thread, the series and the tallies of the phase under way; borrows the recorders and the
// sampler.
//
// Threads: all methods are for the main thread; a mutex keeps it and the observer's own thread
// apart. Clients meet the observer only in their recorders.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "load/budget.h"
#include "measure/recorder.h"
#include "measure/sampler.h"
#include "measure/tally.h"
#include "report/event_table.h"
#include "report/progress.h"
#include "report/series.h"
#include "settings/common_settings.h"

namespace kvdyno {

class Observer {
 public:
  // `started` is the driver's start. A null series or table: none is written. `events` is the
  // observer's until Finish.
  Observer(const CommonSettings& settings, const TallyShape& shape,
           std::vector<Recorder*> recorders, Sampler* sampler, std::unique_ptr<Series> series,
           EventTable* events, std::chrono::steady_clock::time_point started);
  ~Observer();
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  // Between phases the clients rest. `clients_work` is false for settle and drain.
  void BeginPhase(const std::string& name, const Limits& limits, bool clients_work);

  // Returns all that was recorded in the phase; null when no client worked.
  std::shared_ptr<const Tally> EndPhase();

  // The counters of a border between phases; the sampler is the observer's while it lives.
  std::vector<Counter> SampleBorder();

  // Ends the observer's thread and the series. The error that the series met, if any. Nothing else
  // may be called afterwards.
  Status Finish();

 private:
  using Clock = std::chrono::steady_clock;

  // Something that is reported again and again.
  struct Pulse {
    explicit Pulse(double seconds);
    void Restart(Clock::time_point now);
    bool Take(Clock::time_point now);  // true once per interval

    Clock::duration interval;
    Clock::time_point last;  // when it was taken
    Clock::time_point due;
  };

  // One phase as it goes on.
  struct Phase {
    std::string name;
    Limits limits;
    bool clients_work = false;
    Clock::time_point started;
    std::shared_ptr<Tally> total;      // since the phase began
    std::unique_ptr<Tally> interval;   // since the last row
    std::vector<Counter> counters;     // at the last row
    uint64_t operations_reported = 0;  // in the last progress line
  };

  void Watch();
  void Collect(std::unique_lock<std::mutex>* lock);
  void Book();
  void Report(Clock::time_point now, bool last);
  bool NearlyOver(Clock::time_point now) const;
  void WriteRow(Clock::time_point now, double seconds);
  void WriteEvents();
  void WriteProgress(Clock::time_point now, double seconds);
  std::optional<double> Fraction(double elapsed) const;

  const TallyShape shape_;
  const std::vector<Recorder*> recorders_;
  Sampler* const sampler_;
  EventTable* const events_;  // guarded by mutex_, as the series
  const bool status_;
  const Clock::time_point started_;

  std::mutex mutex_;  // guards all that follows
  std::condition_variable wake_;
  bool finished_ = false;
  std::unique_ptr<Series> series_;
  Progress progress_;
  Pulse row_pulse_;
  Pulse progress_pulse_;
  Pulse status_pulse_;
  Tally fresh_;
  std::unique_ptr<Phase> phase_;  // null between phases
  std::thread thread_;            // last: starts when the rest is there
};

}  // namespace kvdyno
