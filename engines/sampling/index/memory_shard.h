// MemoryShardWriter: makes a shard whose entries lie in one array.
// Owns the array and what is counted as it fills. One thread.
#pragma once

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <vector>

#include "index/fences.h"
#include "index/shard.h"

namespace sampling {

class MemoryShardWriter {
 public:
  // For at most that many entries. The memory outlives the shard.
  MemoryShardWriter(const Kind& kind, double filter_false_positives, size_t most,
                    std::pmr::memory_resource* memory);

  // In order of (key, value); a tombstone comes before a record of its pair, which is newer.
  void Add(const Entry& entry) {
    if (entries_.size() % Fences::kEvery == 0) fences_.Add(entry.key);
    mass_ += kind_.Counts(entry);
    if (entry.tombstone()) tombstones_.Add(entry);
    entries_.push_back(entry);
  }
  // Null without entries.
  std::shared_ptr<Shard> Finish();

 private:
  friend class MemoryShard;

  const Kind& kind_;
  const double false_positives_;
  std::pmr::vector<Entry> entries_;
  Fences fences_;
  double mass_ = 0;
  Tombstones tombstones_;
};

}  // namespace sampling
