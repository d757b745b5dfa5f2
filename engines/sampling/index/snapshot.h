// Snapshot: one moment of an index, and draws from it.
// Owns references to buffers and shards, which live as long as it. Safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "external/page_cache.h"
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
    const Entry* data;  // null: on disk
    std::unique_ptr<Selection> selection;
  };
  const std::vector<Source>& sources() const { return sources_; }
  const AliasTable& table() const { return table_; }  // over the sources, by mass
  bool on_disk() const { return on_disk_; }           // some of them

 private:
  bool on_disk_ = false;
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
  size_t active_entries = 0;   // the ones of the active buffer that the moment includes
  uint64_t time = 0;           // records that were tagged later are live
  PageCache* cache = nullptr;  // of external mode
};

struct DrawCounts {
  uint64_t draws = 0;
  bool materialised = false;
};

// As Sampler::Sample, whose checks have passed.
Status Draw(const Snapshot& snapshot, const Options& options, const Query& query, size_t k,
            Random* random, std::vector<Record>* samples, DrawCounts* counts);

// Calls visit with each live record that the query accepts, in order of (key, value).
Status VisitLive(const Snapshot& snapshot, const Query& query,
                 const std::function<void(const Record&)>& visit);

}  // namespace sampling
