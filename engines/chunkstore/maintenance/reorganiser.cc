#include "maintenance/reorganiser.h"

#include <algorithm>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "core/collector.h"
#include "maintenance/cached_keys.h"

namespace chunkstore {

struct Reorganiser::Prepared {
  const Job* job = nullptr;
  std::vector<Piece> pieces;
};

Status Reorganiser::Prepare(const Job& job, EntryCursor* cursor, SegmentWriter* segment,
                            PieceWriter* writer, Prepared* prepared) {
  prepared->job = &job;
  Version now = 0;
  // What is flushed is complete: a write at or below it has nothing older on its way.
  Collector collector(state_.snapshots.Live(&now), kNewest);
  // What is rewritten lies elsewhere, and would be read from disk again: where blocks were cached,
  // those that take over their rows are. A munk's chunk is read from the munk.
  BlockCache* cache = JobReader::MunkOf(job) == nullptr ? state_.blocks.get() : nullptr;
  std::optional<CachedKeys> cached;
  if (cache != nullptr) cached.emplace(job, cache);
  writer->Start(segment, job.chunks.front()->min_key, &prepared->pieces, cache);
  const auto write = [&](const Entry& entry) {
    return writer->Add(entry, cached && cached->Holds(entry.key));
  };
  for (cursor->Seek({}); cursor->Valid(); cursor->Next()) {
    if (Status status = collector.Add(cursor->entry(), write); !status.ok()) return status;
  }
  if (Status status = cursor->status(); !status.ok()) return status;
  return writer->Finish(job.chunks.back()->max_key);
}

void Reorganiser::Plan(std::vector<Job> jobs) {
  readers_.clear();
  jobs_ = std::move(jobs);
  const size_t parts =
      std::min(jobs_.size(), static_cast<size_t>(std::max(state_.options.background_threads, 1)));
  for (size_t i = 0; i < parts; ++i) {
    readers_.push_back(std::make_unique<JobReader>(
        &state_, &policy_, &jobs_, jobs_.size() * i / parts, jobs_.size() * (i + 1) / parts));
  }
}

// The jobs of one reader, into one segment.
void Reorganiser::PrepareSome(size_t part, std::vector<Prepared>* prepared,
                              std::vector<Status>* statuses) {
  const kvdyno::BufferReuse buffers;
  const std::unique_ptr<JobReader> reader = std::move(readers_[part]);
  const size_t first = reader->first(), end = reader->end();
  std::unique_ptr<SegmentWriter> segment;
  Status failed = state_.segments->Create(&segment);
  bool wrote = false;
  std::vector<ExtentRef> wasted;  // what failed jobs wrote
  PieceWriter writer(&state_, &policy_);
  for (size_t i = first; i < end; ++i) {
    Status& status = (*statuses)[i];
    const uint64_t from = failed.ok() ? segment->offset() : 0;
    status = failed.ok()
                 ? Prepare(jobs_[i], reader->Next().get(), segment.get(), &writer, &(*prepared)[i])
                 : failed;
    if (!status.ok()) {
      (*prepared)[i].pieces.clear();
      if (failed.ok() && segment->offset() > from) {
        wasted.push_back({segment->number(), from, segment->offset() - from, 0});
      }
    }
    for (const Piece& piece : (*prepared)[i].pieces) wrote |= piece.table != nullptr;
    // A chunk that cannot be read is left as it is; a segment that cannot be written ends the lot.
    if (status.code() == Code::kNoSpace) failed = status;
  }
  if (failed.ok() && wrote) {
    failed = segment->Finish(true);
    if (!failed.ok() && failed.code() != Code::kNoSpace) state_.SetFatal(failed);
  }
  if (failed.ok()) {
    for (const ExtentRef& extent : wasted) {
      if (wrote) state_.segments->Free(extent);
    }
    return;
  }
  for (size_t i = first; i < end; ++i) (*statuses)[i] = failed;
}

Status Reorganiser::Run() {
  std::vector<Prepared> prepared(jobs_.size());
  std::vector<Status> statuses(jobs_.size());
  const auto some = [&](size_t part) { PrepareSome(part, &prepared, &statuses); };
  std::vector<std::thread> helpers;
  for (size_t i = 1; i < readers_.size(); ++i) helpers.emplace_back(some, i);
  some(0);
  for (std::thread& helper : helpers) helper.join();

  Status first_error;
  std::vector<Prepared> good;
  for (size_t i = 0; i < jobs_.size(); ++i) {
    if (statuses[i].ok()) {
      good.push_back(std::move(prepared[i]));
      continue;
    }
    if (first_error.ok()) first_error = statuses[i];
    for (Chunk* chunk : jobs_[i].chunks) chunk->failed_rounds = kRoundsAlone;
  }
  Status installed = good.empty() ? Status::Ok() : Install(&good);
  if (!installed.ok()) {
    for (const Prepared& done : good) {
      for (Chunk* chunk : done.job->chunks) chunk->failed_rounds = kRoundsAlone;
    }
  }
  Plan({});
  return first_error.ok() ? installed : first_error;
}

Status Reorganiser::Install(std::vector<Prepared>* prepared) {
  Edit edit;
  std::vector<ExtentRef> extents;
  for (const Prepared& done : *prepared) {
    for (const Chunk* chunk : done.job->chunks) edit.remove_chunks.push_back(chunk->min_key);
    for (const Piece& piece : done.pieces) {
      ChunkRecord record;
      // A chunk that only got a new table keeps its identity.
      const bool same = done.job->chunks.size() == 1 && done.pieces.size() == 1;
      record.id = same ? done.job->chunks[0]->id : state_.next_chunk_id++;
      record.min_key = piece.min_key;
      if (piece.table != nullptr) {
        record.table = piece.table->extent();
        extents.push_back(record.table);
        state_.segments->AddLive(record.table);
      }
      edit.add_chunks.push_back(std::move(record));
    }
  }
  if (const Status status = editor_.Apply(edit); !status.ok()) {
    if (!state_.manifest->failed()) {
      for (const ExtentRef& extent : extents) state_.segments->Free(extent);
    }
    return status;
  }
  std::vector<Chunk*> removed, added;
  size_t record = 0;
  for (Prepared& done : *prepared) {
    std::vector<uint64_t> ids;
    ids.reserve(done.pieces.size());
    for (size_t i = 0; i < done.pieces.size(); ++i) ids.push_back(edit.add_chunks[record++].id);
    InstallOne(&done, ids, &removed, &added);
  }
  editor_.Replace(removed, added);
  return Status::Ok();
}

void Reorganiser::InstallOne(Prepared* done, const std::vector<uint64_t>& ids,
                             std::vector<Chunk*>* removed, std::vector<Chunk*>* added) {
  const std::vector<Chunk*>& chunks = done->job->chunks;
  for (const Chunk* chunk : chunks) ChunkEditor::ObsoleteRuns(chunk->funk());
  state_.counters.Add(chunks.size() > 1         ? Count::kMerges
                      : done->pieces.size() > 1 ? Count::kSplits
                                                : Count::kRebalances);
  std::vector<std::unique_ptr<Funk>> funks;
  for (Piece& piece : done->pieces) {
    funks.push_back(editor_.EmptyFunk());
    funks.back()->table = std::move(piece.table);
  }
  if (chunks.size() == 1 && funks.size() == 1) {
    state_.slots.RetireObject(chunks[0]->Exchange(std::move(funks[0])));
    return;
  }
  std::vector<Chunk*> successors;
  for (size_t i = 0; i < funks.size(); ++i) {
    const Piece& piece = done->pieces[i];
    auto chunk = std::make_unique<Chunk>(ids[i], piece.min_key, piece.max_key, std::move(funks[i]));
    chunk->unsettled.store(true);
    successors.push_back(chunk.release());
  }
  if (chunks.size() == 1) munks_.Divide(*chunks[0], successors);
  ChunkEditor::InheritHeat(chunks, successors);
  removed->insert(removed->end(), chunks.begin(), chunks.end());
  added->insert(added->end(), successors.begin(), successors.end());
}

}  // namespace chunkstore
