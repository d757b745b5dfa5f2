#include "maintenance/flusher.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

#include "core/collector.h"
#include "core/writer.h"
#include "hooks/seeded_bugs.h"
#include "kvdyno/base/hash.h"

namespace chunkstore {

// What a stage holds for one chunk, without versions that no read can see.
struct Flusher::Batch {
  Chunk* chunk = nullptr;
  std::vector<Entry> entries;
  uint64_t bytes = 0;
};

// A chunk and those in its place: what it has, and what a stage has beyond it.
struct Flusher::Adoption {
  Chunk* chunk = nullptr;
  std::vector<std::unique_ptr<Chunk>> pieces;
};

struct Flusher::Flushing {
  std::unique_ptr<SegmentWriter> segment;
  Edit edit;
  std::vector<ExtentRef> extents;
  std::vector<std::pair<Chunk*, std::unique_ptr<const Funk>>> appended;  // get one run more
  std::vector<Adoption> adopted;
};

std::shared_ptr<Stage> Flusher::OldestSealed() const {
  const kvdyno::MutexLock lock(state_.write_mutex);
  const auto& stages = state_.stages.load()->stages;
  if (stages.empty() || stages.back() == state_.active) return nullptr;
  return stages.back();
}

Status Flusher::Flush(const std::shared_ptr<Stage>& stage) {
  state_.slots.WaitForPending(stage->last());
  Flushing flushing;
  if (const Status status = state_.segments->Create(&flushing.segment); !status.ok()) return status;

  Version now = 0;
  Collector collector(state_.snapshots.Live(&now), Collector::kNoBottom);
  const ChunkMap& map = state_.map();
  Batch batch;
  size_t at = 0;
  StageIndex::Cursor cursor = stage->NewCursor();
  const auto keep = [&batch](const Entry& entry) {
    batch.entries.push_back(entry);
    batch.bytes += entry.key.size() + entry.value.size();
    return Status::Ok();
  };
  for (cursor.Seek({}); cursor.Valid(); cursor.Next()) {
    const Entry& entry = cursor.entry();
    Chunk* chunk = map.chunks()[at];
    if (batch.chunk == nullptr || (!chunk->max_key.empty() && entry.key >= chunk->max_key)) {
      if (const Status status = WriteBatch(&batch, &flushing); !status.ok()) return status;
      at = map.Position(entry.key);
      batch.chunk = map.chunks()[at];
    }
    const Status status = collector.Add(entry, keep);
    assert(status.ok());
    static_cast<void>(status);
  }
  if (const Status status = WriteBatch(&batch, &flushing); !status.ok()) return status;
  Status status;
  if (!flushing.extents.empty()) status = flushing.segment->Finish(true);
  if (!status.ok()) {
    if (status.code() != Code::kNoSpace) state_.SetFatal(status);
    return status;
  }

  Edit& edit = flushing.edit;
  edit.has_flushed = true;
  edit.flushed_sequence = stage->sequence();
  edit.flushed_version = std::max(stage->last(), state_.manifest->state().flushed_version);
  edit.ring_sequence = state_.ring->newest_sequence();
  edit.has_ring = edit.ring_sequence > 0;
  // A stage of this epoch is behind all that earlier ones left in the ring: how they ended matters
  // no more.
  const ManifestState& manifest = state_.manifest->state();
  if (!manifest.epochs.empty() && EpochOf(stage->first()) == manifest.epoch) {
    edit.has_epoch = true;
    edit.epoch = manifest.epoch;
  }
  for (const ExtentRef& extent : flushing.extents) state_.segments->AddLive(extent);
  if (status = editor_.Apply(edit); !status.ok()) {
    // Nothing refers to what was written. After a failed sync that is not certain: then it stays.
    if (!state_.manifest->failed()) {
      for (const ExtentRef& extent : flushing.extents) state_.segments->Free(extent);
    }
    return status;
  }

  for (auto& [chunk, funk] : flushing.appended) {
    state_.slots.RetireObject(chunk->Exchange(std::move(funk)));
  }
  std::vector<Chunk*> removed, added;
  for (Adoption& adoption : flushing.adopted) InstallOne(&adoption, &removed, &added);
  editor_.Replace(removed, added);
  RefreshRows(*stage);
  DropStage(stage);
  state_.counters.Add(Count::kFlushes);
  state_.counters.Add(Count::kRingBytes, stage->bytes());
  return Status::Ok();
}

Status Flusher::WriteBatch(Batch* batch, Flushing* flushing) {
  if (batch->entries.empty()) return Status::Ok();
  const size_t adopted = Adoptable(*batch);
  if (adopted < batch->entries.size()) return AdoptBatch(batch, adopted, flushing);
  SortedRunSummary summary;
  if (Status status = WriteRun(*batch, adopted, flushing, &summary); !status.ok()) return status;
  const Funk& old = batch->chunk->funk();
  auto funk = std::make_unique<Funk>();
  funk->table = old.table;
  funk->log = old.log->With(summary);
  flushing->edit.append_log.emplace_back(batch->chunk->min_key, summary.extent);
  flushing->appended.emplace_back(batch->chunk, std::move(funk));
  *batch = {};
  return Status::Ok();
}

// The entries before `end`, for a log.
Status Flusher::WriteRun(const Batch& batch, size_t end, Flushing* flushing,
                         SortedRunSummary* summary) {
  SortedRunBuilder builder(flushing->segment.get(), state_.log_form());
  for (size_t i = 0; i < end; ++i) {
    if (const Status status = builder.Add(batch.entries[i]); !status.ok()) return status;
  }
  if (const Status status = builder.Finish(summary); !status.ok()) return status;
  flushing->extents.push_back(summary->extent);
  state_.counters.Add(Count::kFlushBytes, summary->extent.length);
  return Status::Ok();
}

// Sorted-run adoption: entries beyond everything that the chunk has, and enough of them, become
// tables of chunks of their own at once, written once. So a sequential load writes everything once,
// but for what a writer brings that is behind the others. Returns where such entries begin: at the
// end if there are none.
size_t Flusher::Adoptable(const Batch& batch) const {
  const uint64_t enough = state_.options.chunk_size / 2;
  const std::vector<Entry>& entries = batch.entries;
  if (batch.bytes < enough) return entries.size();
  const Funk& funk = batch.chunk->funk();
  const SortedRunIndex* index = nullptr;
  if (funk.table != nullptr && !funk.table->Index(&index).ok()) return entries.size();
  const auto covered = [&](const Entry& entry) {
    return (index != nullptr && entry.key <= index->last_key()) || !funk.log->EndsBefore(entry.key);
  };
  if (covered(entries.back())) return entries.size();
  const auto first = covered(entries.front())
                         ? std::partition_point(entries.begin(), entries.end(), covered)
                         : entries.begin();
  uint64_t bytes = 0;
  for (auto entry = first; entry != entries.end() && bytes < enough; ++entry) {
    bytes += entry->key.size() + entry->value.size();
  }
  return bytes < enough ? entries.size() : static_cast<size_t>(first - entries.begin());
}

// The entries before `from` go to the chunk's log.
Status Flusher::AdoptBatch(Batch* batch, size_t from, Flushing* flushing) {
  Chunk& chunk = *batch->chunk;
  Edit& edit = flushing->edit;
  std::string min_key = chunk.min_key;
  Adoption& adoption = flushing->adopted.emplace_back();
  adoption.chunk = &chunk;
  const auto add_chunk = [&](std::string max_key, std::unique_ptr<const Funk> funk) {
    adoption.pieces.push_back(editor_.NewChunk(min_key, max_key, std::move(funk)));
    adoption.pieces.back()->unsettled.store(true);
    const Chunk& added = *adoption.pieces.back();
    edit.add_chunks.push_back(ChunkEditor::RecordOf(added.id, added.min_key, added.funk()));
    min_key = std::move(max_key);
  };
  edit.remove_chunks.push_back(chunk.min_key);
  uint64_t left = batch->bytes;
  if (!chunk.funk().empty()) {
    auto funk = std::make_unique<Funk>(chunk.funk());
    if (from > 0) {
      SortedRunSummary run;
      if (Status status = WriteRun(*batch, from, flushing, &run); !status.ok()) return status;
      funk->log = funk->log->With(run);
      for (size_t i = 0; i < from; ++i) {
        left -= batch->entries[i].key.size() + batch->entries[i].value.size();
      }
    }
    add_chunk(std::string(batch->entries[from].key), std::move(funk));
  }

  const uint64_t piece_bytes = policy_.PieceBytes(left);
  for (size_t i = from; i < batch->entries.size();) {
    SortedRunBuilder builder(flushing->segment.get(), state_.table_form());
    // Versions of one key stay together, and a remainder that is too small for a piece goes along.
    const bool last = left < piece_bytes + piece_bytes / 2;
    while (i < batch->entries.size() && (last || builder.bytes() < piece_bytes ||
                                         batch->entries[i].key == batch->entries[i - 1].key)) {
      const Entry& entry = batch->entries[i++];
      if (const Status status = builder.Add(entry); !status.ok()) return status;
      left -= entry.key.size() + entry.value.size();
    }
    SortedRunSummary summary;
    if (const Status status = builder.Finish(&summary); !status.ok()) return status;
    std::unique_ptr<Funk> funk = editor_.EmptyFunk();
    funk->table = std::make_shared<SortedRun>(state_.segments.get(), summary.extent, summary.index);
    flushing->extents.push_back(summary.extent);
    state_.counters.Add(Count::kAdoptionBytes, summary.extent.length);
    add_chunk(i < batch->entries.size() ? std::string(batch->entries[i].key) : chunk.max_key,
              std::move(funk));
  }
  state_.counters.Add(Count::kAdoptions);
  *batch = {};
  return Status::Ok();
}

// What was read in memory, recent rows above all, stays there: nothing is read from disk again.
void Flusher::InstallOne(Adoption* adoption, std::vector<Chunk*>* removed,
                         std::vector<Chunk*>* added) {
  std::vector<Chunk*> pieces;
  pieces.reserve(adoption->pieces.size());
  for (auto& piece : adoption->pieces) pieces.push_back(piece.release());
  munks_.Divide(*adoption->chunk, pieces);
  ChunkEditor::InheritHeat({adoption->chunk}, pieces);
  removed->push_back(adoption->chunk);
  added->insert(added->end(), pieces.begin(), pieces.end());
}

// The newest version of each key leaves the stage: cached rows of these keys follow.
void Flusher::RefreshRows(const Stage& stage) {
  if (state_.rows == nullptr) return;
  StageIndex::Cursor cursor = stage.NewCursor();
  std::string_view last;
  bool has_last = false;
  for (cursor.Seek({}); cursor.Valid(); cursor.Next()) {
    const Entry& entry = cursor.entry();
    if (has_last && entry.key == last) continue;
    last = entry.key;
    has_last = true;
    state_.rows->Refresh(entry.key, kvdyno::Hash64(entry.key), entry);
  }
}

// Off the list, and its slot free once no reader can see it.
void Flusher::DropStage(const std::shared_ptr<Stage>& stage) {
  {
    const kvdyno::MutexLock lock(state_.write_mutex);
    auto list = std::make_unique<StageList>(*state_.stages.load());
    std::erase(list->stages, stage);
    PublishStages(&state_, list.release());
  }
  if (!Seeded(Bug::kReusesStageEarly)) state_.slots.WaitForReaders();
  {
    const kvdyno::MutexLock no_checkpoint(state_.checkpoint_mutex);
    const kvdyno::MutexLock lock(state_.write_mutex);
    state_.ring->Release(stage);
  }
  state_.room.NotifyAll();
}

}  // namespace chunkstore
