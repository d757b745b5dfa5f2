#include "index/snapshot.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <iterator>

#include "index/merge.h"
#include "sampling/alias_table.h"
#include "structure/seeded_bugs.h"

namespace sampling {
namespace {

// The buffer's entries that a query asks for, by their running sums: exact whatever the weights.
class BufferPrefix final : public Selection {
 public:
  BufferPrefix(const Buffer& buffer, size_t count) : buffer_(buffer), count_(count) {}
  double mass() const override { return buffer_.Mass(count_); }
  size_t Begin(Random* random) const override {
    while (true) {  // a product that rounds up to the mass lies behind the last slot
      const size_t slot = buffer_.SlotAt(random->Real() * mass(), count_);
      if (slot < count_) return slot;
    }
  }
  size_t Finish(size_t begun, Random*) const override { return begun; }

 private:
  const Buffer& buffer_;
  const size_t count_;
};

// Some of the buffer's entries, as a list made for the query.
class BufferSlots final : public Selection {
 public:
  BufferSlots(std::vector<uint32_t> slots, const std::vector<double>& weights)
      : slots_(std::move(slots)), table_(weights) {}
  double mass() const override { return table_.total(); }
  size_t Begin(Random* random) const override { return slots_[table_.Draw(random)]; }
  size_t Finish(size_t begun, Random*) const override { return begun; }

 private:
  const std::vector<uint32_t> slots_;
  const AliasTable table_;
};

// All that a query may draw from, the oldest first, and which entries are live.
class Sources {
 public:
  Sources(const Snapshot& snapshot, const Options& options, const Query& query)
      : snapshot_(snapshot), options_(options) {
    const Version& version = *snapshot.version;
    for (auto level = version.levels.rbegin(); level != version.levels.rend(); ++level) {
      for (const auto& shard : *level) {
        sources_.push_back({shard->structure().Select(query.first, query.last),
                            shard->entries().data(), shard.get(), nullptr, 0});
      }
    }
    if (version.frozen) AddBuffer(*version.frozen, version.frozen->size(), query);
    AddBuffer(*version.active, snapshot.active_entries, query);

    std::vector<double> masses;
    for (const Source& source : sources_) masses.push_back(source.selection->mass());
    table_ = AliasTable(masses);
  }

  double mass() const { return table_.total(); }

  struct Trial {
    size_t source;
    size_t begun;
    const Entry* entry;
  };
  void Begin(Trial* trial, Random* random) const {
    trial->source = table_.Draw(random);
    BeginInside(trial, random);
  }
  void BeginInside(Trial* trial, Random* random) const {
    trial->begun = sources_[trial->source].selection->Begin(random);
  }
  void Finish(Trial* trial, Random* random) const {
    const Source& source = sources_[trial->source];
    trial->entry = source.entries + source.selection->Finish(trial->begun, random);
    __builtin_prefetch(trial->entry);
  }

  bool Live(const Trial& trial) const {
    const Entry& entry = *trial.entry;
    if (!entry.LiveAt(snapshot_.time)) return false;
    if (options_.deletes == Deletes::kTagging) return true;
    const uint64_t hash = PairHash(entry.key, entry.value);
    for (size_t newer = sources_.size(); newer-- > trial.source;) {
      const Source& source = sources_[newer];
      if (source.buffer != nullptr) {
        // Whatever the buffer holds of the pair is newer than the entry, unless it is the entry.
        const size_t slot = source.buffer->Newest(entry.key, entry.value, source.count);
        if (slot != Buffer::kNone && &source.buffer->entry(slot) != &entry) return false;
      } else if (newer > trial.source && source.shard->HasTombstone(entry.key, entry.value, hash)) {
        return false;
      }
    }
    return true;
  }

 private:
  struct Source {
    std::unique_ptr<Selection> selection;
    const Entry* entries;
    const Shard* shard;    // null: a buffer
    const Buffer* buffer;  // null: a shard
    size_t count;          // of the buffer's entries
  };

  // A buffer is searched from end to end when its sums would mostly lead to entries that do not count.
  void AddBuffer(const Buffer& buffer, size_t count, const Query& query) {
    if (count == 0) return;
    std::unique_ptr<Selection> selection;
    if (query.everything() && buffer.DeletedMass() <= buffer.Mass(count) / 2) {
      selection = std::make_unique<BufferPrefix>(buffer, count);
    } else {
      std::vector<uint32_t> slots;
      std::vector<double> weights;
      for (size_t slot = 0; slot < count; ++slot) {
        const Entry& entry = buffer.entry(slot);
        if (entry.key < query.first || entry.key > query.last || !entry.LiveAt(snapshot_.time))
          continue;
        if (buffer.Newest(entry.key, entry.value, count) != slot) continue;
        slots.push_back(static_cast<uint32_t>(slot));
        weights.push_back(options_.kind->Counts(entry));
      }
      selection = std::make_unique<BufferSlots>(std::move(slots), weights);
    }
    sources_.push_back({std::move(selection), &buffer.entry(0), nullptr, &buffer, count});
  }

  const Snapshot& snapshot_;
  const Options& options_;
  std::vector<Source> sources_;
  AliasTable table_;
};

uint64_t HeldBy(const Version& version) {
  uint64_t entries = version.active->size() + (version.frozen ? version.frozen->size() : 0);
  for (const Level& level : version.levels) entries += EntriesOf(level);
  return entries;
}

// Always, but for a seeded bug: the trial by which a buffer with mass count * maximum would be exact.
bool PassesMaximum(const Snapshot& snapshot, const Entry& entry, Random* random) {
  if (!Seeded(Bug::kBufferByMaximum)) return true;
  const Buffer& buffer = *snapshot.version->active;
  if (&entry < &buffer.entry(0) || &entry >= &buffer.entry(0) + snapshot.active_entries)
    return true;
  double most = 0;
  for (size_t slot = 0; slot < snapshot.active_entries; ++slot) {
    most = std::max(most, buffer.entry(slot).weight);
  }
  return random->Real() < entry.weight / most;
}

// Appends draws from the live records themselves.
Status DrawMaterialised(const Snapshot& snapshot, const Options& options, const Query& query,
                        size_t k, Random* random, std::vector<Record>* samples) {
  const std::vector<Entry> live = Materialise(snapshot, query);
  std::vector<double> weights;
  weights.reserve(live.size());
  for (const Entry& entry : live) weights.push_back(options.kind->Counts(entry));
  const AliasTable table(weights);
  if (!(table.total() > 0)) return NothingToDraw();
  while (samples->size() < k) samples->push_back(live[table.Draw(random)]);
  return Status::Ok();
}

}  // namespace

std::vector<Entry> Materialise(const Snapshot& snapshot, const Query& query) {
  const Version& version = *snapshot.version;
  Runs runs;
  for (auto level = version.levels.rbegin(); level != version.levels.rend(); ++level) {
    Runs below = RunsOf(*level);
    std::move(below.begin(), below.end(), std::back_inserter(runs));
  }
  std::vector<Entry> frozen;
  if (version.frozen) frozen = SortedRun(*version.frozen, version.frozen->size());
  runs.push_back(std::make_unique<MemoryRun>(frozen));
  const std::vector<Entry> active = SortedRun(*version.active, snapshot.active_entries);
  runs.push_back(std::make_unique<MemoryRun>(active));
  std::vector<Entry> live;
  const Status status = Merge(std::move(runs), snapshot.time, true, [&](const Entry& entry) {
    if (query.Accepts(entry)) live.push_back(entry);
    return true;
  });
  assert(status.ok());
  return live;
}

Status Draw(const Snapshot& snapshot, const Options& options, const Query& query, size_t k,
            Random* random, std::vector<Record>* samples, DrawCounts* counts) {
  constexpr size_t kBatch = 64;  // draws under way at once, whose cache misses overlap
  const Sources sources(snapshot, options, query);
  if (!(sources.mass() > 0)) return NothingToDraw();

  // Rejections may cost as much as collecting the live records would, and no more. How many trials a sample
  // took is independent of which record it is, so the change of method keeps the distribution.
  const uint64_t most_rejected = 256 + HeldBy(*snapshot.version) / 8;
  std::array<Sources::Trial, kBatch> trials;
  for (uint64_t rejected = 0; samples->size() < k;) {
    if (rejected > most_rejected) {
      counts->materialised = true;
      return DrawMaterialised(snapshot, options, query, k, random, samples);
    }
    const size_t count = std::min(kBatch, k - samples->size());
    for (size_t i = 0; i < count; ++i) sources.Begin(&trials[i], random);
    for (size_t i = 0; i < count; ++i) sources.Finish(&trials[i], random);
    for (size_t i = 0; i < count; ++i) {
      while (Seeded(Bug::kRetriesInside) && !sources.Live(trials[i]) &&
             ++rejected < most_rejected) {
        sources.BeginInside(&trials[i], random);
        sources.Finish(&trials[i], random);
      }
      const Record& record = *trials[i].entry;
      if (sources.Live(trials[i]) && query.Accepts(record) &&
          PassesMaximum(snapshot, *trials[i].entry, random)) {
        samples->push_back(record);
      } else {
        ++rejected;
      }
    }
    counts->draws += count;
  }
  return Status::Ok();
}

}  // namespace sampling
