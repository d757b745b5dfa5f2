#include "index/levels.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <iterator>

#include "structure/large.h"
#include "structure/seeded_bugs.h"

namespace sampling {
Runs RunsOf(const Level& level) {
  Runs runs;
  for (const auto& shard : level) runs.push_back(std::make_unique<MemoryRun>(shard->entries()));
  return runs;
}

size_t EntriesOf(const Level& level) {
  size_t entries = 0;
  for (const auto& shard : level) entries += shard->entries().size();
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

void Rebuild::Add(const std::vector<Entry>& run) {
  MakeRoom(0, run.size());
  Runs runs;
  runs.push_back(std::make_unique<MemoryRun>(run));
  Place(0, std::move(runs));
}

void Rebuild::KeepBound() {
  for (size_t level = 0; level < levels_.size(); ++level) {
    if (!OverBound(levels_, level, options_)) continue;
    if (Oldest(level)) {  // where it is, since nothing deleted survives
      levels_[level] = MergeAll(RunsOf(levels_[level]), true);
    } else {
      PushDown(level);
    }
  }
}

void Rebuild::MakeRoom(size_t level, size_t entries) {
  if (levels_.size() <= level) levels_.resize(level + 1);
  const Level& there = levels_[level];
  // A compaction may leave fewer shards than there were, with as many entries.
  const bool room =
      static_cast<double>(EntriesOf(there) + entries) <= CapacityOf(level, options_) &&
      (options_.layout == Layout::kLeveling || there.size() < options_.scale_factor);
  if (!room) PushDown(level);
}

void Rebuild::PushDown(size_t level) {
  MakeRoom(level + 1, EntriesOf(levels_[level]));
  const Level moved = std::move(levels_[level]);
  levels_[level].clear();
  Place(level + 1, RunsOf(moved));
}

void Rebuild::Place(size_t level, Runs newer) {
  Level& there = levels_[level];
  const Level replaced = options_.layout == Layout::kLeveling ? std::move(there) : Level();
  if (options_.layout == Layout::kLeveling) there.clear();
  Runs runs = RunsOf(replaced);
  std::move(newer.begin(), newer.end(), std::back_inserter(runs));
  const bool oldest = there.empty() && Oldest(level);
  const Level merged = MergeAll(std::move(runs), oldest);
  there.insert(there.end(), merged.begin(), merged.end());
}

bool Rebuild::Oldest(size_t level) const {
  return std::all_of(levels_.begin() + static_cast<ptrdiff_t>(level) + 1, levels_.end(),
                     [](const Level& below) { return below.empty(); });
}

Level Rebuild::MergeAll(Runs runs, bool oldest) {
  size_t entries = 0;
  for (const auto& run : runs) entries += run->size();
  std::vector<Entry> merged;
  merged.reserve(entries);
  AskForHugePages(merged.data(), entries * sizeof(Entry));
  const Status status = Merge(std::move(runs), time_, oldest, [&](const Entry& entry) {
    merged.push_back(entry);
    return true;
  });
  assert(status.ok());
  if (merged.empty()) return {};
  written_ += merged.size();
  return {
      std::make_shared<Shard>(std::move(merged), *options_.kind, options_.filter_false_positives)};
}

}  // namespace sampling
