// Warming: the log indexes that a store lacks when it was opened, made for many chunks at once. A
// chunk's runs lie in as many places as there were flushes, but there beside its neighbours': for a
// group of chunks one call per flush brings them, where a get that finds its chunk cold makes one
// per run of that chunk alone.
#include <utility>
#include <vector>

#include "maintenance/maintenance.h"

namespace chunkstore {

// Some, so that no flush waits long; true when it got on. A chunk that is read is joined by those
// behind it: they are likely to be read too, and cost hardly another call.
bool Maintenance::WarmLogs() {
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

bool Maintenance::WarmGroup(const std::vector<Chunk*>& group) {
  std::vector<ExtentRef> extents;
  for (const Chunk* chunk : group) {
    for (const auto& run : chunk->funk().log->runs()) {
      if (run->extent().length <= ReadAhead::kLongestRun) extents.push_back(run->extent());
    }
  }
  ReadAhead ahead;
  ahead.Fetch(*state_.segments, std::move(extents));
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

}  // namespace chunkstore
