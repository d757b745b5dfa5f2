#include "scheduler.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "kvdyno/base/clock.h"

namespace kvdyno::silk {

namespace {

// Shorter peaks are counted, but no events: load near the threshold crosses it at every look.
constexpr uint64_t kPeakToTellNs = 100'000'000;

}  // namespace

Scheduler::Scheduler(const Settings& settings, const LoadMeter* meter, Limiter* limiter,
                     rocksdb::ConcurrentTaskLimiter* slots, EventLog* events)
    : settings_(settings),
      meter_(*meter),
      limiter_(*limiter),
      slots_(*slots),
      events_(*events),
      share_(settings.share),
      looked_ns_(NowNs()),
      seen_bytes_(meter->bytes()),
      slots_in_force_(settings.slots),
      thread_([this] { Run(); }) {}

Scheduler::~Scheduler() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stop_changed_.notify_all();
  thread_.join();
}

void Scheduler::Run() {
  while (Wait()) Step(NowNs());
  NotePeak(NowNs(), false);
}

bool Scheduler::Wait() {
  std::unique_lock lock(mutex_);
  const std::chrono::duration<double> window(settings_.window_seconds);
  return !stop_changed_.wait_for(lock, window, [this] { return stop_; });
}

void Scheduler::Step(uint64_t now_ns) {
  const uint64_t bytes = meter_.bytes();
  const double seconds = static_cast<double>(now_ns - looked_ns_) / 1e9;
  const bool changed = share_.Observe(static_cast<double>(bytes - seen_bytes_), seconds);
  looked_ns_ = now_ns;
  seen_bytes_ = bytes;
  if (changed) limiter_.SetShare(share_.rate_bytes_per_s(), share_.peak());
  NotePeak(now_ns, share_.peak());
  LendSlots();
}

void Scheduler::NotePeak(uint64_t now_ns, bool peak) {
  if (peak && peak_begin_ns_ == 0) {
    peak_begin_ns_ = now_ns;
    peaks_++;
  }
  if (peak || peak_begin_ns_ == 0) return;
  const uint64_t begin_ns = std::exchange(peak_begin_ns_, 0);
  if (now_ns - begin_ns < kPeakToTellNs) return;
  events_.Add(
      {.kind = "tuning",
       .begin_ns = begin_ns,
       .duration_ns = now_ns - begin_ns,
       .state = "deep_compactions_held",
       .cause = "client_load",
       .detail = "rate_after=" + std::to_string(static_cast<uint64_t>(share_.rate_bytes_per_s()))});
}

void Scheduler::LendSlots() {
  const int held = std::min(limiter_.deep_waiters(), settings_.slots);
  if (held == lent_) return;
  lent_ = held;
  slots_in_force_ = settings_.slots + held;
  slots_.SetMaxOutstandingTask(slots_in_force_);
}

void Scheduler::Sample(std::vector<Counter>* counters) const {
  const auto add = [&](const char* name, auto value, const char* unit, bool cumulative) {
    counters->push_back({name, static_cast<double>(value), unit, cumulative});
  };
  add("tuner_rate_limit", limiter_.GetBytesPerSecond(), "byte/s", false);
  add("tuner_compaction_slots", slots_in_force_.load(), "count", false);
  add("tuner_peaks", peaks_.load(), "count", true);
  add("client_bytes", meter_.bytes(), "byte", true);
  const struct {
    tuners::SilkClass work;
    const char* written;
    const char* waited;
  } kinds[] = {{tuners::SilkClass::kFlush, "written_by_flushes", "flushes_waited"},
               {tuners::SilkClass::kLevel0, "written_from_level0", "level0_waited"},
               {tuners::SilkClass::kLevel1, "written_from_level1", "level1_waited"},
               {tuners::SilkClass::kDeep, "written_from_deeper", "deeper_waited"}};
  for (const auto& kind : kinds) {
    add(kind.written, limiter_.bytes(kind.work), "byte", true);
    add(kind.waited, static_cast<double>(limiter_.waited_ns(kind.work)) / 1e9, "s", true);
  }
}

}  // namespace kvdyno::silk
