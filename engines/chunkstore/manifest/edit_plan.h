// EditPlan: an edit checked against a state, ready to be carried out.
// Separates what may fail (Make) from what may not (Execute), so that the manifest can write the
// edit to disk in between. Knows no files. One thread; the state must not change in between.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "manifest/manifest.h"

namespace chunkstore {

class EditPlan {
 public:
  // The edit and the state must outlive the plan.
  static Status Make(const Edit& edit, ManifestState* state, EditPlan* plan);
  void Execute();
  // The same, taking the new chunks out of the edit that the plan was made of.
  void ExecuteConsuming(Edit* edit);

 private:
  using Chunks = decltype(ManifestState::chunks);

  Status PlanRemovals();
  Status PlanAdditions();
  Status PlanLogs();
  Status CheckProgress() const;
  void RemoveChunks();
  void AddChunk(ChunkRecord chunk);
  void Finish();
  bool IsRemoved(std::string_view key) const;
  bool IsAdded(std::string_view key) const;

  const Edit* edit_ = nullptr;
  ManifestState* state_ = nullptr;
  std::vector<std::string_view> removed_keys_, added_keys_;  // sorted
  std::vector<Chunks::iterator> removed_;
  Chunks::iterator next_;               // where the next new chunk probably belongs
  std::vector<ChunkRecord*> extended_;  // by append_log; null: a chunk that the edit adds
};

// The field of an edit that adds a chunk.
void AppendChunkField(std::string* to, const ChunkRecord& chunk);

}  // namespace chunkstore
