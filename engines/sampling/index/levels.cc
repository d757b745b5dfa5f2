#include "index/levels.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "index/disk_shard.h"
#include "index/memory_shard.h"
#include "structure/seeded_bugs.h"

namespace sampling {
Runs RunsOf(const Level& level, uint64_t first, uint64_t last) {
  Runs runs;
  for (const auto& shard : level) runs.push_back(shard->Entries(first, last));
  return runs;
}

size_t EntriesOf(const Level& level) {
  size_t entries = 0;
  for (const auto& shard : level) entries += shard->size();
  return entries;
}

double CapacityOf(size_t level, const Options& options) {
  return static_cast<double>(options.buffer_records) *
         std::pow(static_cast<double>(options.scale_factor), static_cast<double>(level + 1));
}

bool OverBound(const Levels& levels, size_t level, const Options& options) {
  size_t deleted = 0;
  double tagged_mass = 0, mass = 0;
  for (const auto& shard : levels[level]) {
    deleted += shard->tombstones();
    if (Seeded(Bug::kBoundIgnoresTags)) continue;
    deleted += shard->tagged();
    tagged_mass += shard->tagged_mass();
    mass += shard->mass();
  }
  return static_cast<double>(deleted) > options.max_deleted * CapacityOf(level, options) ||
         tagged_mass > mass / 2;
}

bool OverBound(const Levels& levels, const Options& options) {
  for (size_t level = 0; level < levels.size(); ++level) {
    if (OverBound(levels, level, options)) return true;
  }
  return false;
}

Status Rebuild::Add(const std::vector<Entry>& run) {
  Runs runs;
  runs.push_back(std::make_unique<MemoryRun>(run));
  return Arrive(0, std::move(runs), run.size());
}

Status Rebuild::KeepBound() {
  Status status;
  for (size_t level = 0; status.ok() && level < levels_.size(); ++level) {
    if (!OverBound(levels_, level, options_)) continue;
    if (Oldest(level)) {  // where it is, since nothing deleted survives
      Level merged;
      status = MergeAll(level, RunsOf(levels_[level]), true, &merged);
      levels_[level] = std::move(merged);
    } else {
      const Level moved = std::exchange(levels_[level], {});
      status = Arrive(level + 1, RunsOf(moved), EntriesOf(moved));
    }
  }
  return status;
}

Status Rebuild::Arrive(size_t level, Runs newer, size_t entries) {
  if (levels_.size() <= level) levels_.resize(level + 1);
  if (HasRoom(level, entries)) return Place(level, std::move(newer));
  const Level full = std::exchange(levels_[level], {});
  Runs runs = RunsOf(full);
  const size_t moved = EntriesOf(full);
  if (InMemory(level)) {
    std::move(newer.begin(), newer.end(), std::back_inserter(runs));
    return Arrive(level + 1, std::move(runs), moved + entries);
  }
  if (Status status = Arrive(level + 1, std::move(runs), moved); !status.ok()) return status;
  return Place(level, std::move(newer));
}

bool Rebuild::HasRoom(size_t level, size_t entries) const {
  const Level& there = levels_[level];
  // A compaction may leave fewer shards than there were, with as many entries.
  return static_cast<double>(EntriesOf(there) + entries) <= CapacityOf(level, options_) &&
         (options_.layout == Layout::kLeveling || there.size() < options_.scale_factor);
}

Status Rebuild::Place(size_t level, Runs newer) {
  Level& there = levels_[level];
  const Level replaced = options_.layout == Layout::kLeveling ? std::move(there) : Level();
  if (options_.layout == Layout::kLeveling) there.clear();
  Runs runs = RunsOf(replaced);
  std::move(newer.begin(), newer.end(), std::back_inserter(runs));
  const bool oldest = there.empty() && Oldest(level);
  Level merged;
  Status status = MergeAll(level, std::move(runs), oldest, &merged);
  there.insert(there.end(), merged.begin(), merged.end());
  return status;
}

bool Rebuild::InMemory(size_t level) const { return !scratch_ || level < options_.memory_levels; }

bool Rebuild::Oldest(size_t level) const {
  return std::all_of(levels_.begin() + static_cast<ptrdiff_t>(level) + 1, levels_.end(),
                     [](const Level& below) { return below.empty(); });
}

Status Rebuild::MergeAll(size_t level, Runs runs, bool oldest, Level* merged) {
  size_t most = 0;
  for (const auto& run : runs) most += run->size();
  std::shared_ptr<Shard> shard;
  Status status;
  if (!InMemory(level)) {
    status = MergeToDisk(std::move(runs), oldest, most, &shard);
  } else {
    MemoryShardWriter writer(*options_.kind, options_.filter_false_positives, most, memory_);
    status = Merge(std::move(runs), time_, oldest, [&](const Entry& entry) {
      writer.Add(entry);
      return true;
    });
    if (status.ok()) shard = writer.Finish();
  }
  if (!status.ok() || !shard) return status;
  written_ += shard->size();
  merged->push_back(std::move(shard));
  return status;
}

Status Rebuild::MergeToDisk(Runs runs, bool oldest, size_t most, std::shared_ptr<Shard>* shard) {
  DiskShardWriter writer(scratch_, *options_.kind, options_.filter_false_positives, most);
  Status written;
  Status status = Merge(std::move(runs), time_, oldest, [&](const Entry& entry) {
    written = writer.Add(entry);
    return written.ok();
  });
  if (status.ok()) status = std::move(written);
  return status.ok() ? writer.Finish(shard) : status;
}

}  // namespace sampling
