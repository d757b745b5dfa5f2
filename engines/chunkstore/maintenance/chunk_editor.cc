#include "maintenance/chunk_editor.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "kvdyno/base/clock.h"

namespace chunkstore {

std::unique_ptr<Chunk> ChunkEditor::NewChunk(std::string min_key, std::string max_key,
                                             std::unique_ptr<const Funk> funk) {
  return std::make_unique<Chunk>(state_.next_chunk_id++, std::move(min_key), std::move(max_key),
                                 std::move(funk));
}

std::unique_ptr<Funk> ChunkEditor::EmptyFunk() const {
  auto funk = std::make_unique<Funk>();
  funk->log =
      std::make_shared<Log>(&state_.log_policy, state_.segments.get(), std::vector<ExtentRef>{});
  return funk;
}

ChunkRecord ChunkEditor::RecordOf(uint64_t id, const std::string& min_key, const Funk& funk) {
  ChunkRecord record;
  record.id = id;
  record.min_key = min_key;
  if (funk.table != nullptr) record.table = funk.table->extent();
  record.log = funk.log->runs();
  return record;
}

void ChunkEditor::Replace(const std::vector<Chunk*>& removed, const std::vector<Chunk*>& added) {
  if (removed.empty() && added.empty()) return;
  const std::unordered_set<const Chunk*> gone(removed.begin(), removed.end());
  const ChunkMap* old = state_.chunks.load();
  std::vector<Chunk*> chunks;
  chunks.reserve(old->size() + added.size());
  for (Chunk* chunk : old->chunks()) {
    if (!gone.contains(chunk)) chunks.push_back(chunk);
  }
  const size_t kept = chunks.size();
  chunks.insert(chunks.end(), added.begin(), added.end());
  const auto by_key = [](const Chunk* a, const Chunk* b) { return a->min_key < b->min_key; };
  std::sort(chunks.begin() + static_cast<long>(kept), chunks.end(), by_key);
  std::inplace_merge(chunks.begin(), chunks.begin() + static_cast<long>(kept), chunks.end(),
                     by_key);
  state_.chunks.store(new ChunkMap(std::move(chunks)));
  state_.slots.RetireObject(old);

  // A reader of a munk that has gone must not miss in its place what is still on the way.
  state_.slots.WaitForPending(state_.clock.load());
  for (Chunk* chunk : added) {
    chunk->unsettled.store(false);
    chunk->reorganised_ns = kvdyno::NowNs();
  }
  for (Chunk* chunk : removed) state_.slots.RetireObject(chunk);
}

void ChunkEditor::ObsoleteRuns(const Funk& funk) {
  if (funk.table != nullptr) funk.table->MarkObsolete();
  funk.log->MarkObsolete();
}

void ChunkEditor::InheritHeat(const std::vector<Chunk*>& from, const std::vector<Chunk*>& to) {
  uint32_t reads = 0;
  uint32_t old_reads = 0;
  uint32_t scans = 0;
  for (const Chunk* chunk : from) {
    reads += chunk->heat.reads.load(std::memory_order_relaxed);
    old_reads += chunk->heat.old_reads.load(std::memory_order_relaxed);
    scans += chunk->heat.scans.load(std::memory_order_relaxed);
  }
  // Pieces have similar lengths. A scan goes through all of them.
  const auto pieces = static_cast<uint32_t>(to.size());
  for (const Chunk* chunk : to) {
    chunk->heat.reads.store(reads / pieces, std::memory_order_relaxed);
    chunk->heat.old_reads.store(old_reads / pieces, std::memory_order_relaxed);
    chunk->heat.scans.store(scans, std::memory_order_relaxed);
  }
}

Status ChunkEditor::Apply(const Edit& edit) {
  const Status status = state_.manifest->Apply(edit, true);
  const bool again = status.code() == Code::kNoSpace && !state_.manifest->failed();
  if (!status.ok() && !again) state_.SetFatal(status);
  return status;
}

}  // namespace chunkstore
