#include "index/snapshot.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <iterator>
#include <optional>
#include <span>

#include "index/merge.h"
#include "sampling/alias_table.h"
#include "structure/seeded_bugs.h"

namespace sampling {
namespace {

constexpr size_t kBatch = 64;  // draws under way at once, whose cache misses overlap

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
      : snapshot_(snapshot), options_(options), shards_(snapshot.version->everything.get()) {
    const Version& version = *snapshot.version;
    if (!query.everything()) {
      own_.emplace(version.levels, query.first, query.last);
      shards_ = &*own_;
    }
    mass_ = shards_->table().total();
    if (version.frozen) AddBuffer(*version.frozen, version.frozen->size(), query);
    AddBuffer(*version.active, snapshot.active_entries, query);
  }

  double mass() const { return mass_; }

  struct Trial {
    size_t source;  // a shard's, and behind the shards the buffers
    size_t begun;
    const Entry* entry;
    bool live;
  };
  void Begin(Trial* trial, Random* random) const {
    trial->source = DrawSource(random);
    BeginInside(trial, random);
  }
  void BeginInside(Trial* trial, Random* random) const {
    trial->begun = SelectionOf(trial->source).Begin(random);
  }
  void Finish(Trial* trial, Random* random) const {
    const size_t position = SelectionOf(trial->source).Finish(trial->begun, random);
    trial->entry = trial->source < shard_count()
                       ? shards_->sources()[trial->source].shard->entries().data() + position
                       : &BufferOf(trial->source).buffer->entry(position);
    __builtin_prefetch(trial->entry);
  }

  // Which of the trials found an entry that is live. Source by source, so that look-ups overlap.
  void FindLive(std::span<Trial> trials) const {
    for (Trial& trial : trials) trial.live = trial.entry->LiveAt(snapshot_.time);
    if (options_.deletes == Deletes::kTagging) return;
    std::array<uint64_t, kBatch> hashes;
    for (size_t i = 0; i < trials.size(); ++i)
      hashes[i] = PairHash(trials[i].entry->key, trials[i].entry->value);
    for (size_t newer = 1; newer < shard_count(); ++newer) {
      const Shard& shard = *shards_->sources()[newer].shard;
      if (shard.tombstones() == 0) continue;
      for (size_t i = 0; i < trials.size(); ++i) {
        Trial& trial = trials[i];
        if (trial.source < newer && trial.live &&
            shard.HasTombstone(trial.entry->key, trial.entry->value, hashes[i]))
          trial.live = false;
      }
    }
    for (size_t newer = shard_count(); newer < shard_count() + buffer_count_; ++newer) {
      const BufferSource& source = BufferOf(newer);
      for (Trial& trial : trials) {
        if (trial.source > newer || !trial.live) continue;
        // Whatever the buffer holds of the pair is newer than the entry, unless it is the entry.
        const Entry& entry = *trial.entry;
        const size_t slot = source.buffer->Newest(entry.key, entry.value, source.count);
        if (slot != Buffer::kNone && &source.buffer->entry(slot) != &entry) trial.live = false;
      }
    }
  }

 private:
  struct BufferSource {
    std::unique_ptr<Selection> selection;
    const Buffer* buffer;
    size_t count;  // of its entries
  };

  size_t shard_count() const { return shards_->sources().size(); }
  const BufferSource& BufferOf(size_t source) const { return buffers_[source - shard_count()]; }
  const Selection& SelectionOf(size_t source) const {
    return source < shard_count() ? *shards_->sources()[source].selection
                                  : *BufferOf(source).selection;
  }

  size_t DrawSource(Random* random) const {
    while (true) {  // a product that rounds up to the mass lies behind the last source
      double at = random->Real() * mass_;
      if (at < shards_->table().total()) return shards_->table().Draw(random);
      at -= shards_->table().total();
      for (size_t i = 0; i < buffer_count_; ++i) {
        const double mass = buffers_[i].selection->mass();
        if (at < mass) return shard_count() + i;
        at -= mass;
      }
    }
  }

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
    mass_ += selection->mass();
    buffers_[buffer_count_++] = {std::move(selection), &buffer, count};
  }

  const Snapshot& snapshot_;
  const Options& options_;
  const ShardSources* shards_;
  std::optional<ShardSources> own_;  // of a query with a range
  std::array<BufferSource, 2> buffers_;
  size_t buffer_count_ = 0;
  double mass_ = 0;
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

ShardSources::ShardSources(const Levels& levels, uint64_t first, uint64_t last) {
  std::vector<double> masses;
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    for (const auto& shard : *level) {
      sources_.push_back({shard.get(), shard->structure().Select(first, last)});
      masses.push_back(sources_.back().selection->mass());
    }
  }
  table_ = AliasTable(masses);
}

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
    sources.FindLive({trials.data(), count});
    for (size_t i = 0; i < count; ++i) {
      while (Seeded(Bug::kRetriesInside) && !trials[i].live && ++rejected < most_rejected) {
        sources.BeginInside(&trials[i], random);
        sources.Finish(&trials[i], random);
        sources.FindLive({&trials[i], 1});
      }
      const Record& record = *trials[i].entry;
      if (trials[i].live && query.Accepts(record) &&
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
