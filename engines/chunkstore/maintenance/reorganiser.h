// Reorganiser: makes new tables of a chunk's table and log, or of its munk. One output is a
// rebalance, several are a split, two chunks with one output are a merge; all are the same work and
// the same edit. Under State::maintenance_mutex; prepares jobs in several threads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/state.h"
#include "maintenance/chunk_editor.h"
#include "maintenance/job_reader.h"
#include "maintenance/munk_keeper.h"
#include "maintenance/piece_writer.h"
#include "maintenance/policy.h"

namespace chunkstore {

class Reorganiser {
 public:
  Reorganiser(State* state, const Policy* policy, ChunkEditor* editor, MunkKeeper* munks)
      : state_(*state), policy_(*policy), editor_(*editor), munks_(*munks) {}

  // Jobs to run, in place of those planned before. What they need first is on its way from disk
  // from now on, so other work may come in between, as long as it replaces none of their chunks.
  void Plan(std::vector<Job> jobs);
  bool planned() const { return !jobs_.empty(); }
  // All planned jobs, one at least, that can be done. The error is the first one's that could not: its chunks are
  // as they were, and are left alone for some rounds.
  Status Run();

 private:
  struct Prepared;  // a job's outcome before it is installed
  Status Prepare(const Job& job, EntryCursor* cursor, SegmentWriter* segment, PieceWriter* writer,
                 Prepared* prepared);
  void PrepareSome(size_t part, std::vector<Prepared>* prepared, std::vector<Status>* statuses);
  Status Install(std::vector<Prepared>* prepared);
  void InstallOne(Prepared* prepared, const std::vector<uint64_t>& ids,
                  std::vector<Chunk*>* removed, std::vector<Chunk*>* added);

  State& state_;
  const Policy& policy_;
  ChunkEditor& editor_;
  MunkKeeper& munks_;
  std::vector<Job> jobs_;
  std::vector<std::unique_ptr<JobReader>> readers_;  // one a thread, each of neighbours in jobs_
};

}  // namespace chunkstore
