// Snapshot: one moment of an index, and draws from it.
// Owns references to buffers and shards, which live as long as it. Safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "index/buffer.h"
#include "index/levels.h"
#include "sampling/alias_table.h"
#include "sampling/sampler.h"

namespace sampling {

// Shards, the oldest first, and what a query draws from them.
class ShardSources {
 public:
  ShardSources(const Levels& levels, uint64_t first, uint64_t last);

  struct Source {
    const Shard* shard;
    std::unique_ptr<Selection> selection;
  };
  const std::vector<Source>& sources() const { return sources_; }
  const AliasTable& table() const { return table_; }  // over the sources, by mass

 private:
  std::vector<Source> sources_;
  AliasTable table_;
};

// What the index holds; versions follow one another as merges are installed.
struct Version {
  std::shared_ptr<Buffer> active;  // takes appends
  std::shared_ptr<Buffer> frozen;  // full, and not merged yet; null: none
  Levels levels;
  std::shared_ptr<const ShardSources> everything;  // of all levels, for queries without a range
};

struct Snapshot {
  std::shared_ptr<const Version> version;
  size_t active_entries = 0;  // the ones of the active buffer that the moment includes
  uint64_t time = 0;          // records that were tagged later are live
};

struct DrawCounts {
  uint64_t draws = 0;
  bool materialised = false;
};

// As Sampler::Sample, whose checks have passed.
Status Draw(const Snapshot& snapshot, const Options& options, const Query& query, size_t k,
            Random* random, std::vector<Record>* samples, DrawCounts* counts);

// The live records that the query accepts, sorted by (key, value).
std::vector<Entry> Materialise(const Snapshot& snapshot, const Query& query);

}  // namespace sampling
