// Log debt: counting it, and paying it on request.
#include <algorithm>
#include <optional>

#include "maintenance/maintenance.h"

namespace chunkstore {

void Maintenance::SurveyDebt() {
  uint64_t debt = 0;
  for (const Chunk* chunk : state_.map().chunks()) debt += chunk->funk().log_bytes();
  log_debt_ = debt;
  debt_limit_ = policy_.DebtLimit(state_.segments->live_bytes(), debt, log_index_bytes_);
  state_.slowdown_ns_per_byte.store(policy_.SlowdownNsPerByte(debt, debt_limit_),
                                    std::memory_order_relaxed);
}

// What is owed is counted once, after the flush: the call ends under steady writes too. A batch at
// a time, so that stages are flushed and space is given back in between.
Status Maintenance::PayDebt(uint64_t log_bytes_max) {
  if (Status status = FlushAll(); !status.ok()) return status;
  std::optional<uint64_t> owed;
  for (Status error;;) {
    if (state_.gate.closed()) {
      return Status::InvalidArgument("pay debt " + state_.directory + ": the store was closed");
    }
    const std::lock_guard one(state_.maintenance_mutex);
    if (Status status = FlushSealed(); !status.ok()) return status;
    SurveyDebt();
    const uint64_t above = log_debt_ > log_bytes_max ? log_debt_ - log_bytes_max : 0;
    owed = std::min(owed.value_or(above), above);
    const uint64_t paid = *owed == 0 ? 0 : PayOnce(log_bytes_max, &error);
    if (paid == 0) return error;
    *owed -= std::min(*owed, paid);
  }
}

// Bytes of logs that are gone. *error keeps the first chunk's that could not be reorganised; others
// are.
uint64_t Maintenance::PayOnce(uint64_t log_bytes_max, Status* error) {
  const uint64_t before = log_debt_;
  const std::vector<Job> jobs = policy_.Due(state_.map(), before, log_bytes_max, kRoundBytes);
  if (jobs.empty()) return 0;
  Status status = Reorganise(jobs);
  if (error->ok()) *error = std::move(status);
  SurveyDebt();
  state_.slots.Reclaim();
  return before - std::min<uint64_t>(before, log_debt_);
}

}  // namespace chunkstore
