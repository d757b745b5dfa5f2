// Maintenance: decides when chunks change. Owns the rounds, the debt of logs and the background
// threads; flusher, reorganiser, munk keeper, log warmer and budget keeper do the work. One round
// at a time, under State::maintenance_mutex, in one thread; the chunks of a round may be prepared
// by several. Readers and writers never wait for it, except when no stage is free.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "core/state.h"
#include "core/writer.h"
#include "kvdyno/base/mutex.h"
#include "maintenance/budget_keeper.h"
#include "maintenance/chunk_editor.h"
#include "maintenance/flusher.h"
#include "maintenance/log_warmer.h"
#include "maintenance/munk_keeper.h"
#include "maintenance/policy.h"
#include "maintenance/reorganiser.h"

namespace chunkstore {

class Maintenance {
 public:
  Maintenance(State* state, Writer* writer);
  ~Maintenance();

  // Background threads, if there are any; one of them first gives back the space that a crash left
  // unused.
  void Start(bool punch_gaps);
  void Stop();
  void Wake();

  // For a writer that found no free stage: a round in this thread, or a wake-up.
  Status Work();
  // Flushes everything written before, and reorganises until nothing is due.
  Status FlushAll();
  // Flushes everything written before, and reorganises nothing.
  Status FlushStages();
  // One stage, whatever else is due; for a store that is being opened.
  Status FlushOldest();
  // Flushes, and then pays what logs hold beyond the bound: the largest logs first.
  Status PayDebt(uint64_t log_bytes_max);
  // Flushes, and then reorganises every chunk that has a log or versions to drop.
  Status CompactAll();
  // Counts the bytes of all logs, and sets how much writers are slowed down for them. Under the
  // maintenance lock, or before the store is shared.
  void SurveyDebt();

  // Saves log indexes and heat for the next open. Returns the file's number, even if it could not
  // be written. Under the maintenance lock, with all background threads stopped.
  uint64_t SaveWarmth() { return warmer_.Save(); }

  double drain_seconds() const { return drain_seconds_.load(); }
  uint64_t log_debt() const { return log_debt_.load(); }
  uint64_t munk_bytes() const { return munks_.bytes(); }
  uint64_t munks() const { return munks_.count(); }
  uint64_t index_bytes() const { return budget_.index_bytes(); }
  uint64_t memory_budget() const { return budget_.bytes(); }

 private:
  bool stopped();  // the store is closing: loading anything would be wasted
  void RoundLoop();
  void CheckpointLoop();
  Status Round(bool* worked, bool leisure) KVDYNO_REQUIRES(state_.maintenance_mutex);
  std::vector<Job> DueJobs() const KVDYNO_REQUIRES(state_.maintenance_mutex);
  Status RunJobs() KVDYNO_REQUIRES(state_.maintenance_mutex);
  bool MergeForScans() KVDYNO_REQUIRES(state_.maintenance_mutex);
  void KeepMemory() KVDYNO_REQUIRES(state_.maintenance_mutex);
  // The oldest sealed stage, if there is one: then *worked.
  Status FlushSealed(bool* worked) KVDYNO_REQUIRES(state_.maintenance_mutex);
  Status FlushAhead(bool* worked) KVDYNO_REQUIRES(state_.maintenance_mutex);
  Status Flush(const std::shared_ptr<Stage>& stage) KVDYNO_REQUIRES(state_.maintenance_mutex);
  void Plan(std::vector<Job> jobs) KVDYNO_REQUIRES(state_.maintenance_mutex);
  Status Reorganise(std::vector<Job> jobs) KVDYNO_REQUIRES(state_.maintenance_mutex);
  uint64_t PayOnce(uint64_t log_bytes_max, Status* error) KVDYNO_REQUIRES(state_.maintenance_mutex);

  State& state_;
  Writer& writer_;
  const Policy policy_;
  ChunkEditor editor_;
  MunkKeeper munks_;
  BudgetKeeper budget_;
  LogWarmer warmer_;
  Flusher flusher_;
  Reorganiser reorganiser_;

  uint64_t scans_since_ns_ KVDYNO_GUARDED_BY(state_.maintenance_mutex);  // that read logs
  bool warmed_ KVDYNO_GUARDED_BY(state_.maintenance_mutex) = false;      // by the last round
  bool busy_ KVDYNO_GUARDED_BY(state_.maintenance_mutex) = false;  // ever since the last flush
  // The last due chunk that could not be reorganised; what Flush reports.
  Status job_error_ KVDYNO_GUARDED_BY(state_.maintenance_mutex);
  Code logged_ KVDYNO_GUARDED_BY(state_.maintenance_mutex) = Code::kOk;  // of the last job_error_
  uint64_t debt_limit_ = 0;  // as of the last SurveyDebt
  std::atomic<double> drain_seconds_{0};
  std::atomic<uint64_t> log_debt_{0};
  std::atomic<int> calls_{0};  // of clients that wait for maintenance

  kvdyno::Mutex wake_mutex_;
  kvdyno::CondVar wake_;
  bool woken_ KVDYNO_GUARDED_BY(wake_mutex_) = false;
  bool stop_ KVDYNO_GUARDED_BY(wake_mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace chunkstore
