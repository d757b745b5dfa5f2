// Levels: where shards lie, and the rules by which they move down.
// A Rebuild works on a copy of the lists and makes new shards; those that others see stay as they
// are. One thread per Rebuild.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <vector>

#include "external/scratch.h"
#include "index/merge.h"
#include "index/shard.h"
#include "sampling/options.h"

namespace sampling {

using Level = std::vector<std::shared_ptr<Shard>>;  // the oldest first
using Levels = std::vector<Level>;                  // level 0, the newest, first

size_t EntriesOf(const Level& level);
// The entries of a key range, or some more. They live as long as the level.
Runs RunsOf(const Level& level, uint64_t first = 0, uint64_t last = UINT64_MAX);
double CapacityOf(size_t level, const Options& options);  // entries
// The level holds more deleted entries than the bound allows, or more deleted weight than live.
bool OverBound(const Levels& levels, size_t level, const Options& options);
bool OverBound(const Levels& levels, const Options& options);  // any level

class Rebuild {
 public:
  // Records that were tagged by `time` are dropped from what is merged. Without scratch, all levels stay in memory.
  // `memory` holds their arrays, and outlives them.
  Rebuild(const Options& options, std::shared_ptr<Scratch> scratch,
          std::pmr::memory_resource* memory, Levels levels, uint64_t time)
      : options_(options),
        scratch_(std::move(scratch)),
        memory_(memory),
        levels_(std::move(levels)),
        time_(time) {}

  // After an error, of reading or of writing, the levels are undefined.
  // A full buffer's sorted entries become the newest.
  Status Add(const std::vector<Entry>& run);
  // Pushes down what is over the bound, from the top.
  Status KeepBound();

  const Levels& levels() const { return levels_; }
  uint64_t written() const { return written_; }  // entries of new shards

 private:
  // Places what comes from above, so many entries, the oldest run first. Where there is no room, the level goes down.
  // In memory, what comes goes along, so that it is written once and not twice. On disk it stays, because
  // the budget has room for the blocks of one level's files.
  Status Arrive(size_t level, Runs newer, size_t entries);
  // For that many entries more, as one run.
  bool HasRoom(size_t level, size_t entries) const;
  // Places a merge of `newer`, and of what the level's layout merges it with, in the level.
  Status Place(size_t level, Runs newer);
  bool InMemory(size_t level) const;
  // Whether nothing older lies below the level.
  bool Oldest(size_t level) const;
  // Into one shard, or none, where that level lies.
  Status MergeAll(size_t level, Runs runs, bool oldest, Level* merged);
  Status MergeToDisk(Runs runs, bool oldest, size_t most, std::shared_ptr<Shard>* shard);

  const Options& options_;
  const std::shared_ptr<Scratch> scratch_;
  std::pmr::memory_resource* const memory_;
  Levels levels_;
  const uint64_t time_;
  uint64_t written_ = 0;
};

}  // namespace sampling
