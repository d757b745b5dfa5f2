// Warming: the log indexes that a store lacks when it was opened, made for many chunks at once. A
// chunk's runs lie in as many places as there were flushes, but there beside its neighbours': for a
// group of chunks one call per flush brings them, where a get that finds its chunk cold makes one
// per run of that chunk alone.
#include <utility>
#include <vector>

#include "maintenance/maintenance.h"

namespace chunkstore {

namespace {

// Nobody reads in a chunk: its index can wait, and a log without one costs writers less.
bool IsRead(const Chunk& chunk) {
  return chunk.heat.reads.load(std::memory_order_relaxed) > 0 ||
         chunk.heat.scans.load(std::memory_order_relaxed) > 0;
}

}  // namespace

// Some, so that no flush waits long; true when it got on.
bool Maintenance::WarmLogs() {
  std::vector<Chunk*> group;
  std::vector<ExtentRef> extents;
  uint64_t bytes = 0, group_bytes = 0;
  bool warmed = false;
  const auto warm_group = [&] {
    ReadAhead ahead;
    ahead.Fetch(*state_.segments, std::exchange(extents, {}));
    ReadContext context = state_.read_context(false);
    context.ahead = &ahead;
    for (Chunk* chunk : group) {
      if (chunk->funk().log->Warm(context).ok()) {
        warmed = true;
        state_.counters.Add(Count::kLogsWarmed);
      } else {
        chunk->failed_rounds = kRoundsAlone;
      }
    }
    group.clear();
    bytes += std::exchange(group_bytes, 0);
  };
  for (Chunk* chunk : state_.map().chunks()) {
    const Log& log = *chunk->funk().log;
    if (log.warm() || chunk->failed_rounds > 0 || !IsRead(*chunk)) continue;
    if (bytes >= kRoundBytes) break;
    group.push_back(chunk);
    group_bytes += log.bytes();
    for (const auto& run : log.runs()) {
      if (run->extent().length <= ReadAhead::kLongestRun) extents.push_back(run->extent());
    }
    if (group_bytes >= policy_.GroupBytes()) warm_group();
  }
  if (!group.empty()) warm_group();
  return warmed;
}

}  // namespace chunkstore
