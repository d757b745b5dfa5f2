#include "maintenance/log_warmer.h"

#include <memory>
#include <string>
#include <utility>

#include "funk/warmth.h"

namespace chunkstore {

// A chunk that is read is joined by those behind it: they are likely to be read too, and cost hardly
// another call.
bool LogWarmer::Warm() {
  const std::vector<Chunk*>& chunks = state_.map().chunks();
  const auto cold = [](const Chunk& chunk) {
    return chunk.failed_rounds == 0 && !chunk.funk().log->warm();
  };
  const auto is_read = [](const Chunk& chunk) {
    return chunk.heat.reads.load(std::memory_order_relaxed) > 0 ||
           chunk.heat.scans.load(std::memory_order_relaxed) > 0;
  };
  uint64_t bytes = 0;
  bool warmed = false;
  for (size_t i = 0; i < chunks.size() && bytes < kRoundBytes;) {
    if (!cold(*chunks[i]) || !is_read(*chunks[i])) {
      ++i;
      continue;
    }
    std::vector<Chunk*> group;
    uint64_t group_bytes = 0;
    for (; i < chunks.size() && cold(*chunks[i]) && group_bytes < policy_.GroupBytes(); ++i) {
      group.push_back(chunks[i]);
      group_bytes += chunks[i]->funk().log_bytes();
    }
    bytes += group_bytes;
    warmed |= WarmGroup(group);
  }
  return warmed;
}

std::vector<ExtentRef> ShortRunsOf(const std::vector<Chunk*>& chunks) {
  std::vector<ExtentRef> extents;
  for (const Chunk* chunk : chunks) {
    for (const ExtentRef& run : chunk->funk().log->runs()) {
      if (run.length <= ReadAhead::kLongestRun) extents.push_back(run);
    }
  }
  return extents;
}

bool LogWarmer::WarmGroup(const std::vector<Chunk*>& group) {
  std::vector<Chunk*> unsaved;
  for (Chunk* chunk : group) {
    if (!chunk->funk().log->saved()) unsaved.push_back(chunk);
  }
  ReadAhead ahead;
  ahead.Fetch(*state_.segments, ShortRunsOf(unsaved));
  ReadContext context = state_.read_context(false);
  context.ahead = &ahead;
  bool warmed = false;
  for (Chunk* chunk : group) {
    if (chunk->funk().log->Warm(context).ok()) {
      warmed = true;
      state_.counters.Add(Count::kLogsWarmed);
    } else {
      chunk->failed_rounds = kRoundsAlone;
    }
  }
  return warmed;
}

uint64_t LogWarmer::Save() {
  const uint64_t number = state_.manifest->state().warmth + 1;
  std::unique_ptr<WarmthWriter> writer;
  Status status = WarmthWriter::Create(state_.files, state_.directory, number, &writer);
  std::string index;
  for (const Chunk* chunk : state_.map().chunks()) {
    if (!status.ok()) break;
    ChunkWarmth known;
    known.id = chunk->id;
    known.reads = chunk->heat.reads.load(std::memory_order_relaxed);
    known.scans = chunk->heat.scans.load(std::memory_order_relaxed);
    // A log that was never read has no index; its heat is saved all the same.
    if (!chunk->funk().log->Save(&index, &known.runs).ok()) index.clear();
    status = writer->Add(known, index);
  }
  if (status.ok()) status = writer->Finish();
  writer.reset();
  if (!status.ok()) RemoveWarmth(state_.files, state_.directory, number - 1);
  return number;
}

}  // namespace chunkstore
