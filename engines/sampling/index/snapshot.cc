#include "index/snapshot.h"

#include <algorithm>
#include <array>
#include <cmath>
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
      own_ = std::make_unique<ShardSources>(version.levels, query.first, query.last);
      shards_ = own_.get();
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
  // A draw by itself mostly ends where it begins: entry and structure are read at once.
  void Guess(const Trial& trial) const {
    if (trial.source >= shard_count()) return;
    if (const Entry* data = shards_->sources()[trial.source].data; data != nullptr)
      __builtin_prefetch(data + trial.begun);
  }
  // Finds the trials' entries, on disk those of all trials together.
  Status Finish(std::span<Trial> trials, Random* random) {
    for (Trial& trial : trials)
      trial.begun = SelectionOf(trial.source).Approach(trial.begun, random);
    for (Trial& trial : trials) {
      trial.begun = SelectionOf(trial.source).Finish(trial.begun, random);
      if (trial.source >= shard_count()) {
        trial.entry = &BufferOf(trial.source).buffer->entry(trial.begun);
      } else if (const Entry* data = shards_->sources()[trial.source].data; data != nullptr) {
        trial.entry = data + trial.begun;
      } else {
        trial.entry = nullptr;
      }
      __builtin_prefetch(trial.entry);
    }
    return shards_->on_disk() ? FinishOnDisk(trials, random) : Status::Ok();
  }

  void EndBatch() { picked_.clear(); }

  // Which of the trials found an entry that is live. Source by source, so that look-ups overlap.
  void FindLive(std::span<Trial> trials) const {
    for (Trial& trial : trials) trial.live = trial.entry->LiveAt(snapshot_.time);
    if (options_.deletes == Deletes::kTagging) return;
    std::array<Probes, kBatch> probes;
    for (size_t i = 0; i < trials.size(); ++i)
      probes[i] = Probes(trials[i].entry->key, trials[i].entry->value);
    for (size_t newer = 1; newer < shard_count(); ++newer) {
      const Shard& shard = *shards_->sources()[newer].shard;
      if (shard.tombstones() == 0) continue;
      for (size_t i = 0; i < trials.size(); ++i) {
        Trial& trial = trials[i];
        if (trial.source < newer && trial.live &&
            shard.HasTombstone(trial.entry->key, trial.entry->value, probes[i]))
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
    const Buffer* buffer = nullptr;
    size_t count = 0;  // of its entries
    std::optional<BufferPrefix> prefix = {};
    std::optional<BufferSlots> slots = {};

    const Selection& selection() const {
      return prefix ? static_cast<const Selection&>(*prefix) : *slots;
    }
  };

  size_t shard_count() const { return shards_->sources().size(); }
  const BufferSource& BufferOf(size_t source) const { return buffers_[source - shard_count()]; }
  const Selection& SelectionOf(size_t source) const {
    return source < shard_count() ? *shards_->sources()[source].selection
                                  : BufferOf(source).selection();
  }

  size_t DrawSource(Random* random) const {
    while (true) {  // a product that rounds up to the mass lies behind the last source
      double at = random->Real() * mass_;
      if (at < shards_->table().total()) return shards_->table().Draw(random);
      at -= shards_->table().total();
      for (size_t i = 0; i < buffer_count_; ++i) {
        const double mass = buffers_[i].selection().mass();
        if (at < mass) return shard_count() + i;
        at -= mass;
      }
    }
  }

  Status FinishOnDisk(std::span<Trial> trials, Random* random) {
    std::vector<PageCache::Want> wants;
    for (const Trial& trial : trials) {
      if (trial.entry != nullptr) continue;
      const PageFile* file = shards_->sources()[trial.source].shard->file();
      wants.push_back({file, static_cast<uint32_t>(trial.begun), nullptr});
    }
    Status status = snapshot_.cache->Get(wants);
    if (!status.ok()) return status;
    auto want = wants.begin();
    for (Trial& trial : trials) {
      if (trial.entry != nullptr) continue;
      const Shard& shard = *shards_->sources()[trial.source].shard;
      picked_.push_back(std::make_unique<Entry>(shard.Pick(*want++->found, random)));
      trial.entry = picked_.back().get();
    }
    return status;
  }

  // A buffer is searched from end to end when its sums would mostly lead to entries that do not count.
  void AddBuffer(const Buffer& buffer, size_t count, const Query& query) {
    if (count == 0) return;
    BufferSource& source = buffers_[buffer_count_++];
    source.buffer = &buffer;
    source.count = count;
    if (query.everything() && buffer.DeletedMass() <= buffer.Mass(count) / 2) {
      source.prefix.emplace(buffer, count);
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
      source.slots.emplace(std::move(slots), weights);
    }
    mass_ += source.selection().mass();
  }

  const Snapshot& snapshot_;
  const Options& options_;
  const ShardSources* shards_;
  std::unique_ptr<ShardSources> own_;  // of a query with a range
  std::array<BufferSource, 2> buffers_;
  size_t buffer_count_ = 0;
  double mass_ = 0;
  std::vector<std::unique_ptr<Entry>> picked_;  // that the batch found on disk
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

// Appends draws from the live records themselves, in one pass and without room for them. Each of the reservoirs, one
// a sample, takes a record with probability weight / weights so far (Chao 1982). The gaps between the reservoirs that
// take one record are geometric, so the pass skips the others.
Status DrawFromAll(const Snapshot& snapshot, const Options& options, const Query& query, size_t k,
                   Random* random, std::vector<Record>* samples) {
  const size_t begin = samples->size();
  double total = 0;
  Status status = VisitLive(snapshot, query, [&](const Record& record) {
    const double counts = options.kind->weighted ? record.weight : 1;
    if (!(counts > 0)) return;
    total += counts;
    if (samples->size() < k) {
      samples->resize(k, record);
      return;
    }
    const double log_stay = std::log1p(-counts / total);
    const auto gap = [&] { return std::floor(std::log1p(-random->Real()) / log_stay); };
    const auto end = static_cast<double>(k - begin);
    for (double at = gap(); at < end; at += 1 + gap())
      (*samples)[begin + static_cast<size_t>(at)] = record;
  });
  if (status.ok() && !(total > 0)) return NothingToDraw();
  return status;
}

}  // namespace

ShardSources::ShardSources(const Levels& levels, uint64_t first, uint64_t last) {
  std::vector<double> masses;
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    for (const auto& shard : *level) {
      sources_.push_back({shard.get(), shard->data(), shard->Select(first, last)});
      masses.push_back(sources_.back().selection->mass() * shard->unit());
      on_disk_ = on_disk_ || shard->data() == nullptr;
    }
  }
  table_ = AliasTable(masses);
}

Status VisitLive(const Snapshot& snapshot, const Query& query,
                 const std::function<void(const Record&)>& visit) {
  const Version& version = *snapshot.version;
  Runs runs;
  for (auto level = version.levels.rbegin(); level != version.levels.rend(); ++level) {
    Runs below = RunsOf(*level, query.first, query.last);
    std::move(below.begin(), below.end(), std::back_inserter(runs));
  }
  std::vector<Entry> frozen;
  if (version.frozen) frozen = SortedRun(*version.frozen, version.frozen->size());
  runs.push_back(std::make_unique<MemoryRun>(frozen));
  const std::vector<Entry> active = SortedRun(*version.active, snapshot.active_entries);
  runs.push_back(std::make_unique<MemoryRun>(active));
  return Merge(std::move(runs), snapshot.time, true, [&](const Entry& entry) {
    if (query.Accepts(entry)) visit(entry);
    return true;
  });
}

Status Draw(const Snapshot& snapshot, const Options& options, const Query& query, size_t k,
            Random* random, std::vector<Record>* samples, DrawCounts* counts) {
  Sources sources(snapshot, options, query);
  if (!(sources.mass() > 0)) return NothingToDraw();

  // Rejections may cost as much as collecting the live records would, and no more. How many trials a sample
  // took is independent of which record it is, so the change of method keeps the distribution.
  constexpr uint64_t kFewRejected = 256;  // for which no one counts the entries
  const auto most_rejected = [&] { return kFewRejected + HeldBy(*snapshot.version) / 8; };
  std::array<Sources::Trial, kBatch> trials;
  for (uint64_t rejected = 0; samples->size() < k;) {
    if (rejected > kFewRejected && rejected > most_rejected()) {
      counts->materialised = true;
      return DrawFromAll(snapshot, options, query, k, random, samples);
    }
    const size_t count = std::min(kBatch, k - samples->size());
    for (size_t i = 0; i < count; ++i) sources.Begin(&trials[i], random);
    if (count == 1) sources.Guess(trials[0]);
    Status status = sources.Finish({trials.data(), count}, random);
    if (!status.ok()) return status;
    sources.FindLive({trials.data(), count});
    for (size_t i = 0; i < count; ++i) {
      while (Seeded(Bug::kRetriesInside) && !trials[i].live && ++rejected < most_rejected()) {
        sources.BeginInside(&trials[i], random);
        status = sources.Finish({&trials[i], 1}, random);
        if (!status.ok()) return status;
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
    sources.EndBatch();
    counts->draws += count;
  }
  return Status::Ok();
}

}  // namespace sampling
