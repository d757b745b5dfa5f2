#include "manifest/edit_plan.h"

#include <algorithm>

#include "manifest/text.h"

namespace chunkstore {

namespace {

Status Misfit(const std::string& expected, const std::string& got) {
  return Status::Corruption("manifest edit: expected " + expected + ", got " + got);
}

// The first key that is there twice, or null.
const std::string_view* Duplicate(const std::vector<std::string_view>& sorted) {
  const auto at = std::adjacent_find(sorted.begin(), sorted.end());
  return at == sorted.end() ? nullptr : &*at;
}

// Edits name chunks mostly in key order: the neighbour of the last one found is tried first.
template <typename Chunks>
typename Chunks::iterator FindNear(Chunks* chunks, typename Chunks::iterator last,
                                   std::string_view key) {
  if (last != chunks->end()) ++last;
  if (last != chunks->end() && last->first == key) return last;
  return chunks->find(key);
}

}  // namespace

Status EditPlan::Make(const Edit& edit, ManifestState* state, EditPlan* plan) {
  plan->edit_ = &edit;
  plan->state_ = state;
  Status status = plan->PlanRemovals();
  if (status.ok()) status = plan->PlanAdditions();
  if (status.ok()) status = plan->PlanLogs();
  if (status.ok()) status = plan->CheckProgress();
  return status;
}

Status EditPlan::PlanRemovals() {
  auto last = state_->chunks.end();
  for (const std::string& key : edit_->remove_chunks) {
    last = FindNear(&state_->chunks, last, key);
    if (last == state_->chunks.end()) {
      return Misfit("a chunk with the least key " + Quoted(key) + " to remove", "none");
    }
    removed_.push_back(last);
    removed_keys_.emplace_back(key);
  }
  std::sort(removed_keys_.begin(), removed_keys_.end());
  if (const std::string_view* twice = Duplicate(removed_keys_)) {
    return Misfit("one removal of chunk " + Quoted(*twice), "two");
  }
  return Status::Ok();
}

Status EditPlan::PlanAdditions() {
  for (const ChunkRecord& chunk : edit_->add_chunks) {
    added_keys_.emplace_back(chunk.min_key);
    if (state_->chunks.contains(chunk.min_key) && !IsRemoved(chunk.min_key)) {
      return Misfit("no chunk with the least key " + Quoted(chunk.min_key) + " yet", "one");
    }
  }
  std::sort(added_keys_.begin(), added_keys_.end());
  if (const std::string_view* twice = Duplicate(added_keys_)) {
    return Misfit("one new chunk with the least key " + Quoted(*twice), "two");
  }
  if (!IsAdded("") && (!state_->chunks.contains("") || IsRemoved(""))) {
    return Misfit("a first chunk that begins with the empty key", "none");
  }
  return Status::Ok();
}

Status EditPlan::PlanLogs() {
  auto last = state_->chunks.end();
  extended_.reserve(edit_->append_log.size());
  for (const auto& [key, extent] : edit_->append_log) {
    if (IsAdded(key)) {
      extended_.push_back(nullptr);
      continue;
    }
    last = FindNear(&state_->chunks, last, key);
    if (last == state_->chunks.end() || IsRemoved(key)) {
      return Misfit("a chunk with the least key " + Quoted(key) + " for a log run", "none");
    }
    extended_.push_back(&last->second);
  }
  return Status::Ok();
}

Status EditPlan::CheckProgress() const {
  const auto check = [](const char* what, uint64_t before, uint64_t after) {
    if (after >= before) return Status::Ok();
    return Misfit(std::string(what) + " of at least " + std::to_string(before),
                  std::to_string(after));
  };
  Status status;
  if (edit_->has_flushed) {
    status = check("a flushed sequence", state_->flushed_sequence, edit_->flushed_sequence);
    if (status.ok()) {
      status = check("a flushed version", state_->flushed_version, edit_->flushed_version);
    }
  }
  if (status.ok() && edit_->has_epoch) status = check("an epoch", state_->epoch, edit_->epoch);
  return status;
}

bool EditPlan::IsRemoved(std::string_view key) const {
  return std::binary_search(removed_keys_.begin(), removed_keys_.end(), key);
}

bool EditPlan::IsAdded(std::string_view key) const {
  return std::binary_search(added_keys_.begin(), added_keys_.end(), key);
}

void EditPlan::Execute() {
  RemoveChunks();
  for (const ChunkRecord& chunk : edit_->add_chunks) AddChunk(chunk);
  Finish();
}

void EditPlan::ExecuteConsuming(Edit* edit) {
  RemoveChunks();
  for (ChunkRecord& chunk : edit->add_chunks) AddChunk(std::move(chunk));
  Finish();
}

void EditPlan::RemoveChunks() {
  for (const auto& chunk : removed_) state_->chunks.erase(chunk);
  next_ = state_->chunks.end();
}

void EditPlan::AddChunk(ChunkRecord chunk) {
  state_->next_chunk_id = std::max(state_->next_chunk_id, chunk.id + 1);
  std::string key = chunk.min_key;
  next_ = std::next(state_->chunks.emplace_hint(next_, std::move(key), std::move(chunk)));
}

void EditPlan::Finish() {
  auto& chunks = state_->chunks;
  for (size_t i = 0; i < extended_.size(); ++i) {
    const auto& [key, extent] = edit_->append_log[i];
    ChunkRecord* chunk = extended_[i] != nullptr ? extended_[i] : &chunks.find(key)->second;
    chunk->log.push_back(extent);
  }
  state_->next_chunk_id = std::max(state_->next_chunk_id, edit_->next_chunk_id);
  if (edit_->has_flushed) {
    state_->flushed_sequence = edit_->flushed_sequence;
    state_->flushed_version = edit_->flushed_version;
  }
  if (edit_->has_epoch) {
    state_->epoch = edit_->epoch;
    state_->epochs = edit_->epochs;
  }
  if (edit_->has_clean) state_->clean = edit_->clean;
  if (edit_->has_ring) state_->ring_sequence = edit_->ring_sequence;
  state_->warmth = std::max(state_->warmth, edit_->warmth);
}

namespace {

constexpr size_t kMaxProblems = 100;

void AddProblem(std::string problem, std::vector<std::string>* problems) {
  if (problems->size() < kMaxProblems) problems->push_back(std::move(problem));
}

void CheckOverlaps(const ManifestState& state, std::vector<std::string>* problems) {
  std::vector<const ExtentRef*> runs;
  for (const auto& [key, chunk] : state.chunks) {
    if (!chunk.table.empty()) runs.push_back(&chunk.table);
    for (const ExtentRef& run : chunk.log) runs.push_back(&run);
  }
  std::sort(runs.begin(), runs.end(), [](const ExtentRef* a, const ExtentRef* b) {
    return a->segment != b->segment ? a->segment < b->segment : a->offset < b->offset;
  });
  for (size_t i = 1; i < runs.size(); ++i) {
    const ExtentRef &before = *runs[i - 1], &run = *runs[i];
    if (before.segment == run.segment && before.offset + before.length > run.offset) {
      AddProblem("manifest, segment " + std::to_string(run.segment) +
                     ": expected runs that do not overlap, got one up to offset " +
                     std::to_string(before.offset + before.length) + " and one from offset " +
                     std::to_string(run.offset),
                 problems);
    }
  }
}

void CheckIds(const ManifestState& state, std::vector<std::string>* problems) {
  std::vector<uint64_t> ids;
  ids.reserve(state.chunks.size());
  for (const auto& [key, chunk] : state.chunks) ids.push_back(chunk.id);
  std::sort(ids.begin(), ids.end());
  if (const auto twice = std::adjacent_find(ids.begin(), ids.end()); twice != ids.end()) {
    AddProblem("manifest: expected one chunk with id " + std::to_string(*twice) + ", got two",
               problems);
  }
  if (!ids.empty() && ids.back() >= state.next_chunk_id) {
    AddProblem("manifest: expected chunk ids below " + std::to_string(state.next_chunk_id) +
                   ", got " + std::to_string(ids.back()),
               problems);
  }
}

}  // namespace

void CheckState(const ManifestState& state, std::vector<std::string>* problems) {
  if (!state.chunks.contains("")) {
    AddProblem("manifest: expected a first chunk that begins with the empty key, got none",
               problems);
  }
  CheckOverlaps(state, problems);
  CheckIds(state, problems);
  uint64_t before = 0;
  for (const EpochEnd& end : state.epochs) {
    if (end.epoch <= before || end.epoch > state.epoch) {
      AddProblem("manifest: expected an ended epoch above " + std::to_string(before) +
                     " and not above " + std::to_string(state.epoch) + ", got " +
                     std::to_string(end.epoch),
                 problems);
    }
    before = end.epoch;
  }
}

}  // namespace chunkstore
