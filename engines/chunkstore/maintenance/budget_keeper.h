// BudgetKeeper: divides the memory budget among the ring, indexes, background work and caches, and
// lets caches have what rests. Under State::maintenance_mutex but for what it counts.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "core/state.h"
#include "maintenance/munk_keeper.h"
#include "maintenance/policy.h"
#include "memory/arbiter.h"

namespace chunkstore {

class BudgetKeeper {
 public:
  BudgetKeeper(State* state, const Policy* policy, MunkKeeper* munks);

  // Before a flush or a reorganisation: caches give back at once what the work needs.
  void BeginWork();
  // In each round: some times a second memory follows use; once a second heat fades. Indexes are
  // counted once a second, and at once when the process has grown by what nothing counts.
  void Tick();

  uint64_t bytes() const { return budget_.load(); }  // the budget in force; from any thread
  uint64_t index_bytes() const { return index_bytes_.load(); }  // from any thread, as of a Tick
  uint64_t log_index_bytes() const { return log_index_bytes_; }

 private:
  bool idle() const;
  void LookForWrites();
  uint64_t TakenBytes() const;  // by all but caches
  uint64_t ProcessBytes() const;
  uint64_t BesideBytes() const;
  bool HasGrown() const;  // since indexes were counted
  uint64_t CacheBytes() const;
  void Fit();    // caches to what is theirs
  void Share();  // with the other stores of a shared budget
  void ApplyShares();
  void SurveyIndexes();  // what indexes take in memory
  bool Decide(double heat_share);
  void ForgetRing(double bytes_per_second);  // what is written
  void FadeHeat();
  void TrimHeap();  // gives free pages of the heap back to the machine

  State& state_;
  const Policy& policy_;
  MunkKeeper& munks_;
  std::unique_ptr<Arbiter> arbiter_;
  std::atomic<uint64_t> budget_;  // in force
  uint64_t shared_reads_ = 0;     // up to the last Share
  uint64_t last_work_ns_ = 0;
  uint64_t last_write_ns_ = 0;  // as far as a Tick saw it
  Version last_version_ = 0;
  uint64_t last_put_bytes_ = 0;  // up to the last survey
  bool quiet_ = false;           // idle, and nothing is written
  uint64_t ring_resident_ = 0;   // bytes, when the store was idle last
  uint64_t last_survey_ns_ = 0;
  uint64_t last_decision_ns_ = 0;
  uint64_t next_trim_ns_ = 0;
  uint64_t ticks_ = 0;
  CacheObservation last_munks_, last_rows_, last_blocks_;
  uint64_t surveyed_bytes_ = 0;   // of indexes
  uint64_t log_index_bytes_ = 0;  // of surveyed_bytes_
  // As many, or more while the heap has not given back what earlier ones took.
  std::atomic<uint64_t> index_bytes_{0};
  uint64_t beside_ = 0;       // BesideBytes after the last TrimHeap
  uint64_t unexplained_ = 0;  // BesideBytes after the last SurveyIndexes
};

}  // namespace chunkstore
