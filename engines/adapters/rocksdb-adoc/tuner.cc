#include "tuner.h"

#include <chrono>
#include <cstdlib>
#include <utility>

#include "kvdyno/base/clock.h"

namespace kvdyno::adoc {

namespace {

using tuners::AdocReason;
using Property = rocksdb::DB::Properties;

uint64_t IntProperty(rocksdb::DB* db, const std::string& name) {
  uint64_t value = 0;
  db->GetIntProperty(name, &value);
  return value;
}

// A level's files are a text property only.
uint64_t FilesAt(rocksdb::DB* db, int level) {
  std::string files;
  db->GetProperty(Property::kNumFilesAtLevelPrefix + std::to_string(level), &files);
  return std::strtoull(files.c_str(), nullptr, 10);
}

}  // namespace

Tuner::Tuner(const Settings& settings, std::shared_ptr<Signals> signals, rocksdb::DB* db,
             EventLog* events)
    : settings_(settings),
      signals_(std::move(signals)),
      db_(db),
      events_(events),
      core_(settings.mode, settings.limits),
      knobs_(settings.start),
      threads_(settings.start.threads),
      batch_(settings.start.batch),
      delayed_write_bytes_per_s_(settings.start.delayed_write_bytes_per_s),
      thread_([this] { Run(); }) {}

Tuner::~Tuner() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stop_changed_.notify_all();
  thread_.join();
}

void Tuner::Run() {
  uint64_t begin_ns = NowNs();
  while (Wait()) {
    // A knob that took long to turn makes its window longer.
    const uint64_t now_ns = NowNs();
    const double seconds = static_cast<double>(now_ns - begin_ns) / 1e9;
    begin_ns = now_ns;
    Apply(core_.Decide(Observe(seconds), knobs_));
  }
}

bool Tuner::Wait() {
  std::unique_lock lock(mutex_);
  const std::chrono::duration<double> window(settings_.window_seconds);
  return !stop_changed_.wait_for(lock, window, [this] { return stop_; });
}

tuners::AdocWindow Tuner::Observe(double seconds) {
  tuners::AdocWindow window;
  window.immutable_memtables = IntProperty(db_, Property::kNumImmutableMemTable);
  window.level0_files = FilesAt(db_, 0);
  window.level1_files = FilesAt(db_, 1);
  window.pending_bytes = IntProperty(db_, Property::kEstimatePendingCompactionBytes);
  signals_->EndWindow(seconds, &window);
  return window;
}

// Threads first: they help at once, while a batch counts from the next memtable on.
void Tuner::Apply(const tuners::AdocDecision& decision) {
  if (decision.threads != AdocReason::kNone || decision.delayed_write != AdocReason::kNone) {
    TurnThreadsAndRate(decision);
  }
  if (decision.batch != AdocReason::kNone) TurnBatch(decision);
}

void Tuner::TurnThreadsAndRate(const tuners::AdocDecision& decision) {
  const tuners::AdocKnobs before = knobs_;
  const tuners::AdocKnobs& wanted = decision.knobs;
  Values values;
  if (decision.threads != AdocReason::kNone) {
    values["max_background_jobs"] = std::to_string(wanted.threads);
  }
  if (decision.delayed_write != AdocReason::kNone) {
    values["delayed_write_rate"] = std::to_string(wanted.delayed_write_bytes_per_s);
  }
  const uint64_t begin_ns = NowNs();
  const rocksdb::Status done = db_->SetDBOptions(values);
  if (done.ok()) {
    knobs_.threads = wanted.threads;
    knobs_.delayed_write_bytes_per_s = wanted.delayed_write_bytes_per_s;
    threads_ = knobs_.threads;
    delayed_write_bytes_per_s_ = knobs_.delayed_write_bytes_per_s;
  }
  AddEvent("threads", decision.threads, begin_ns, static_cast<uint64_t>(before.threads),
           static_cast<uint64_t>(wanted.threads), done);
  AddEvent("delayed_write_rate", decision.delayed_write, begin_ns, before.delayed_write_bytes_per_s,
           wanted.delayed_write_bytes_per_s, done);
}

void Tuner::TurnBatch(const tuners::AdocDecision& decision) {
  const uint64_t before = knobs_.batch;
  const uint64_t wanted = decision.knobs.batch;
  const Values values = {
      {"write_buffer_size", std::to_string(wanted)},
      {"target_file_size_base", std::to_string(wanted)},
      {"max_bytes_for_level_base", std::to_string(wanted * settings_.batches_in_level1)}};
  const uint64_t begin_ns = NowNs();
  const rocksdb::Status done = db_->SetOptions(values);
  if (done.ok()) batch_ = knobs_.batch = wanted;
  AddEvent("batch", decision.batch, begin_ns, before, wanted, done);
}

void Tuner::AddEvent(const char* knob, AdocReason reason, uint64_t begin_ns, uint64_t from,
                     uint64_t to, const rocksdb::Status& done) {
  if (reason == AdocReason::kNone) return;
  (done.ok() ? actions_[static_cast<size_t>(reason)] : failures_)++;
  events_->Add({.kind = "tuning",
                .begin_ns = begin_ns,
                .duration_ns = NowNs() - begin_ns,
                .state = done.ok() ? knob : "failed",
                .cause = std::string(tuners::AdocReasonName(reason)),
                .detail = "knob=" + std::string(knob) + " from=" + std::to_string(from) +
                          " to=" + std::to_string(to)});
}

void Tuner::Sample(std::vector<Counter>* counters) const {
  const auto add = [&](std::string name, auto value, const char* unit, bool cumulative) {
    counters->push_back({std::move(name), static_cast<double>(value), unit, cumulative});
  };
  add("tuner_threads", threads_.load(), "count", false);
  add("tuner_batch", batch_.load(), "byte", false);
  add("tuner_delayed_write_rate", delayed_write_bytes_per_s_.load(), "byte/s", false);
  uint64_t all = 0;
  for (const AdocReason reason : {AdocReason::kLevel0, AdocReason::kRedundancy, AdocReason::kMemory,
                                  AdocReason::kSlowFlush}) {
    const uint64_t actions = actions_[static_cast<size_t>(reason)];
    add("tuner_actions_" + std::string(tuners::AdocReasonName(reason)), actions, "count", true);
    all += actions;
  }
  add("tuner_actions", all, "count", true);
  add("tuner_failures", failures_.load(), "count", true);
}

}  // namespace kvdyno::adoc
