// JobReader: the entries of jobs, one job after the other; of a round's, or of chunks that become
// munks. With background threads they are on their way from disk before they are asked for, the
// first ones from the reader's beginning: tables by pieces, the first of the next job's table
// included, and logs by groups of jobs. One thread, under State::maintenance_mutex.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "concurrency/worker.h"
#include "core/state.h"
#include "maintenance/policy.h"

namespace chunkstore {

class JobReader {
 public:
  // Reads jobs[first] to before jobs[end], at least one. All arguments outlive it.
  JobReader(State* state, const Policy* policy, const std::vector<Job>* jobs, size_t first,
            size_t end);

  // The next job's entries. The cursor of the job before must be gone; this must outlive it.
  std::unique_ptr<EntryCursor> Next();

  size_t first() const { return first_; }
  size_t end() const { return end_; }

  static const Munk* MunkOf(const Job& job);  // that can be read instead of table and log

 private:
  // Jobs whose logs were read together.
  struct Group {
    size_t end = 0;  // behind the last one
    ReadAhead logs;
  };
  void Fetch(size_t first, Group* group);
  void NextGroup();
  std::unique_ptr<EntryCursor> CursorOf(const Job& job);

  State& state_;
  const Policy& policy_;
  const std::vector<Job>& jobs_;
  const size_t first_, end_;
  size_t at_;
  Group group_, next_group_;
  Worker table_reader_, log_reader_;
  std::unique_ptr<EntryCursor> next_;  // null: not made yet. The last member: it uses others
};

}  // namespace chunkstore
