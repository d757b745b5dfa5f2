// Reorganiser: makes new tables of a chunk's table and log, or of its munk. One output is a
// rebalance, several are a split, two chunks with one output are a merge; all are the same work and
// the same edit. Under State::maintenance_mutex; prepares jobs in several threads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/state.h"
#include "maintenance/chunk_editor.h"
#include "maintenance/munk_keeper.h"
#include "maintenance/piece_writer.h"
#include "maintenance/policy.h"

namespace chunkstore {

class Reorganiser {
 public:
  Reorganiser(State* state, const Policy* policy, ChunkEditor* editor, MunkKeeper* munks)
      : state_(*state), policy_(*policy), editor_(*editor), munks_(*munks) {}

  // All jobs that can be done. The error is the first one's that could not: its chunks are as they
  // were, and are left alone for some rounds.
  Status Run(const std::vector<Job>& jobs);

 private:
  struct Prepared;  // a job's outcome before it is installed
  Status Prepare(const Job& job, EntryCursor* cursor, SegmentWriter* segment, PieceWriter* writer,
                 Prepared* prepared);
  void PrepareSome(const std::vector<Job>& jobs, size_t first, size_t end,
                   std::vector<Prepared>* prepared, std::vector<Status>* statuses);
  Status Install(std::vector<Prepared>* prepared);
  void InstallOne(Prepared* prepared, const std::vector<uint64_t>& ids,
                  std::vector<Chunk*>* removed, std::vector<Chunk*>* added);

  State& state_;
  const Policy& policy_;
  ChunkEditor& editor_;
  MunkKeeper& munks_;
};

}  // namespace chunkstore
