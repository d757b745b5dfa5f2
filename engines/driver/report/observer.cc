// The observer's thread. See the header for who may call what; `mutex_` is held while anything is
// reported, never while clients are waited for.
#include "report/observer.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <utility>

#include "kvdyno/base/clock.h"
#include "report/console.h"

namespace kvdyno {
namespace {

using std::chrono::duration;

double SecondsBetween(std::chrono::steady_clock::time_point from,
                      std::chrono::steady_clock::time_point to) {
  return duration<double>(to - from).count();
}

}  // namespace

Observer::Pulse::Pulse(double seconds)
    : interval(std::chrono::duration_cast<Clock::duration>(duration<double>(seconds))) {}

void Observer::Pulse::Restart(Clock::time_point now) {
  last = now;
  due = now + interval;
}

bool Observer::Pulse::Take(Clock::time_point now) {
  if (now < due) return false;
  last = now;
  while (due <= now) due += interval;
  return true;
}

Observer::Observer(const CommonSettings& settings, const TallyShape& shape,
                   std::vector<Recorder*> recorders, Sampler* sampler,
                   std::unique_ptr<Series> series, EventTable* events, Clock::time_point started)
    : shape_(shape),
      recorders_(std::move(recorders)),
      sampler_(sampler),
      events_(events),
      status_(settings.status),
      started_(started),
      series_(std::move(series)),
      progress_(static_cast<int>(settings.progress_fd)),
      row_pulse_(settings.series_interval),
      progress_pulse_(1),
      status_pulse_(settings.status_interval),
      fresh_(shape),
      thread_([this] { Watch(); }) {}

Observer::~Observer() {
  if (thread_.joinable()) static_cast<void>(Finish());
}

Status Observer::Finish() {
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
  }
  wake_.notify_all();
  thread_.join();
  return series_ == nullptr ? Status::Ok() : series_->Close();
}

void Observer::BeginPhase(const std::string& name, const Limits& limits, bool clients_work) {
  const std::lock_guard lock(mutex_);
  phase_ = std::make_unique<Phase>();
  phase_->name = name;
  phase_->limits = limits;
  phase_->clients_work = clients_work;
  phase_->total = std::make_shared<Tally>(shape_);
  phase_->interval = std::make_unique<Tally>(shape_);
  if (series_ != nullptr) phase_->counters = sampler_->Sample();
  phase_->started = Clock::now();
  if (events_ != nullptr) events_->BeginPhase(name, NowNs());
  for (Pulse* pulse : {&row_pulse_, &progress_pulse_, &status_pulse_}) {
    pulse->Restart(phase_->started);
  }
  WriteProgress(phase_->started, 0);
  wake_.notify_all();
}

std::shared_ptr<const Tally> Observer::EndPhase() {
  const std::lock_guard lock(mutex_);
  for (Recorder* recorder : recorders_) recorder->TakeRest(&fresh_);
  Book();
  Report(Clock::now(), true);
  const std::unique_ptr<Phase> ended = std::move(phase_);
  wake_.notify_all();
  return ended->clients_work ? ended->total : nullptr;
}

std::vector<Counter> Observer::SampleBorder() {
  const std::lock_guard lock(mutex_);
  return sampler_->SampleBorder();
}

void Observer::Watch() {
  std::unique_lock lock(mutex_);
  while (!finished_) {
    if (phase_ == nullptr) {
      wake_.wait(lock);
      continue;
    }
    Clock::time_point due = std::min(row_pulse_.due, progress_pulse_.due);
    if (status_) due = std::min(due, status_pulse_.due);
    if (wake_.wait_until(lock, due) == std::cv_status::no_timeout || phase_ == nullptr) continue;
    if (phase_->clients_work) Collect(&lock);
    if (phase_ == nullptr) continue;
    Report(Clock::now(), false);
  }
}

// Asks every client for its tally and waits for those that are busy, a quarter of an interval at
// most and without the lock, so that a phase can end meanwhile. A client inside a longer operation
// answers next time.
void Observer::Collect(std::unique_lock<std::mutex>* lock) {
  for (Recorder* recorder : recorders_) {
    recorder->Collect(&fresh_);
    recorder->Ask();
  }
  std::vector<Recorder*> waiting = recorders_;
  const Clock::time_point end =
      Clock::now() + std::min(row_pulse_.interval, progress_pulse_.interval) / 4;
  Clock::duration pause = std::chrono::microseconds(100);
  while (!waiting.empty() && Clock::now() < end) {
    const bool woken = wake_.wait_for(*lock, pause) == std::cv_status::no_timeout;
    if (phase_ == nullptr) return;
    if (woken) break;
    pause = std::min<Clock::duration>(pause * 2, std::chrono::milliseconds(5));
    std::erase_if(waiting, [&](Recorder* recorder) { return recorder->Collect(&fresh_); });
  }
  Book();
}

void Observer::Book() {
  phase_->interval->Merge(fresh_);
  phase_->total->Merge(fresh_);
  fresh_.Reset();
}

// `last`: of the phase; reports what happened since the pulses.
void Observer::Report(Clock::time_point now, bool last) {
  const double row_seconds = SecondsBetween(row_pulse_.last, now);
  const double progress_seconds = SecondsBetween(progress_pulse_.last, now);
  if (NearlyOver(now)) row_pulse_.due = Clock::time_point::max();
  if (row_pulse_.Take(now) || last) WriteRow(now, row_seconds);
  if (progress_pulse_.Take(now) || last) WriteProgress(now, progress_seconds);
  if (status_ && phase_->clients_work && (status_pulse_.Take(now) || last)) {
    const double elapsed = SecondsBetween(phase_->started, now);
    std::puts(StatusLine(std::time(nullptr), elapsed, *phase_->total).c_str());
    std::fflush(stdout);
  }
}

// Whether a row written now would leave the phase's last one less than half an interval: too little
// for a rate. The last row then covers both.
bool Observer::NearlyOver(Clock::time_point now) const {
  if (phase_->limits.seconds <= 0) return false;
  const double left = phase_->limits.seconds - SecondsBetween(phase_->started, now);
  return left < std::chrono::duration<double>(row_pulse_.interval).count() / 2;
}

void Observer::WriteRow(Clock::time_point now, double seconds) {
  if (series_ != nullptr) {
    std::vector<Counter> counters = sampler_->Sample();
    series_->Append(phase_->name, SecondsBetween(started_, now), seconds,
                    phase_->clients_work ? phase_->interval.get() : nullptr,
                    Changes(phase_->counters, counters));
    phase_->counters = std::move(counters);
  }
  WriteEvents();
  phase_->interval->Reset();
}

// Taken also where nothing uses them, so that they do not pile up.
void Observer::WriteEvents() {
  const std::vector<Event> events = sampler_->TakeEvents();
  if (events_ != nullptr) events_->Append(events);
}

void Observer::WriteProgress(Clock::time_point now, double seconds) {
  const uint64_t operations = phase_->total->operations();
  const uint64_t recent = operations - std::exchange(phase_->operations_reported, operations);
  const double elapsed = SecondsBetween(phase_->started, now);
  progress_.Write({.phase = phase_->name,
                   .elapsed = elapsed,
                   .fraction = Fraction(elapsed),
                   .operations = operations,
                   .rate = seconds > 0 ? static_cast<double>(recent) / seconds : 0});
}

// How near the nearest limit is; nothing without a limit.
std::optional<double> Observer::Fraction(double elapsed) const {
  const Limits& limits = phase_->limits;
  std::optional<double> fraction;
  const auto consider = [&](double done, double limit) {
    fraction = std::max(fraction.value_or(0), std::min(done / limit, 1.0));
  };
  if (limits.seconds > 0) consider(elapsed, limits.seconds);
  if (limits.operations != Limits::kUnlimited) {
    consider(static_cast<double>(phase_->total->operations()),
             static_cast<double>(limits.operations));
  }
  if (limits.bytes_written != Limits::kUnlimited) {
    consider(static_cast<double>(phase_->total->bytes_written),
             static_cast<double>(limits.bytes_written));
  }
  return fraction;
}

}  // namespace kvdyno
