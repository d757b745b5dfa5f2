// Flusher: makes a stage's entries one run per chunk, all in one new segment, installed by one edit.
// Under State::maintenance_mutex.
#pragma once

#include <memory>
#include <vector>

#include "core/state.h"
#include "maintenance/chunk_editor.h"
#include "maintenance/munk_keeper.h"
#include "maintenance/policy.h"

namespace chunkstore {

class Flusher {
 public:
  Flusher(State* state, const Policy* policy, ChunkEditor* editor, MunkKeeper* munks)
      : state_(*state), policy_(*policy), editor_(*editor), munks_(*munks) {}

  std::shared_ptr<Stage> OldestSealed() const;  // null: there is none
  // The oldest sealed stage. On return it is free for writers, or nothing has changed.
  Status Flush(const std::shared_ptr<Stage>& stage);

 private:
  struct Batch;
  struct Adoption;
  struct Flushing;
  Status WriteBatch(Batch* batch, Flushing* flushing);
  Status WriteRun(const Batch& batch, size_t end, Flushing* flushing, SortedRunSummary* summary);
  Status AdoptBatch(Batch* batch, size_t from, Flushing* flushing);
  size_t Adoptable(const Batch& batch) const;
  void InstallOne(Adoption* adoption, std::vector<Chunk*>* removed, std::vector<Chunk*>* added);
  void RefreshRows(const Stage& stage);
  void DropStage(const std::shared_ptr<Stage>& stage);

  State& state_;
  const Policy& policy_;
  ChunkEditor& editor_;
  MunkKeeper& munks_;
};

}  // namespace chunkstore
