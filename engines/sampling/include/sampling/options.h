// Options of the dynamic index: one struct, each member with its unit, range, default and effect.
// A default is written here and nowhere else. The defaults are those that the published exploration
// ends with (Rumbaugh and Xie, SIGMOD 2023). Options are values, copied by Index::Open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "sampling/structure.h"

namespace kvdyno {
class FileSystem;
}

namespace sampling {

// How shards lie in levels; level i holds buffer_records * scale_factor^(i+1) entries.
enum class Layout : uint8_t {
  kLeveling,  // one shard a level: fewer shards to look into, more merging
  kTiering,   // up to scale_factor shards a level: less merging
};

enum class Deletes : uint8_t {
  kTagging,     // a delete finds the record and marks it: a rejection costs one look
  kTombstones,  // a delete inserts a tombstone: every sample is looked up in newer shards
};

struct Options {
  const Kind* kind = &kWeightedSet;
  Layout layout = Layout::kTiering;
  Deletes deletes = Deletes::kTagging;

  // How much larger a level is than the one above it; 2 to 1000.
  size_t scale_factor = 6;
  // Entries of the buffer, 1 to 2^24. Larger: fewer and larger merges, slower range queries.
  size_t buffer_records = 12000;
  // The rejection bound, in (0, 1): a level with more deleted entries than this share of its capacity
  // is compacted. Smaller: fewer rejections, more merging.
  double max_deleted = 0.05;
  // The rate of false positives of the filters over tombstones, in (0, 1]; 1: no filters. Smaller:
  // more memory, fewer searches per sample. Without effect under tagging.
  double filter_false_positives = 0.01;
  // A thread of the index merges, and the writer waits for it only when the next buffer is full too.
  // Off: the writer merges, and the order of events is the same in each run.
  bool background = false;

  // External mode: a directory for shards that memory does not hold; empty: there is none, all is in memory. It
  // is the index's own scratch space: locked, created where it is missing, its files removed when the index closes,
  // or by the next one after a crash. Merges need room for what they write beside what they read.
  std::string directory;
  // Levels that stay in memory, 0 to 20; the ones below lie on disk. Without effect outside of external mode.
  size_t memory_levels = 2;
  // The cap of external mode, in bytes: buffers, levels in memory, what shards on disk keep in memory, a merge under
  // way, and the cache of pages, which takes what the others leave. What queries hold comes on top: samples and up
  // to 64 pages each. Open refuses a cap that the other options exceed.
  size_t memory_bytes = size_t{256} << 20;
  // Where the directory is; null: the machine's file system. Outlives the index.
  kvdyno::FileSystem* files = nullptr;
};

}  // namespace sampling
