#include "index/dynamic_index.h"

#include <cmath>
#include <string>

#include "index/merge.h"
#include "structure/seeded_bugs.h"

namespace sampling {
namespace {

using kvdyno::MutexLock;

constexpr auto kNap = std::chrono::seconds(1);  // waits are notified; this bounds a lost one

}  // namespace

DynamicIndex::DynamicIndex(const Options& options) : options_(options) {
  auto version = std::make_shared<Version>();
  version->active = std::make_shared<Buffer>(options_.buffer_records, *options_.kind);
  version->everything = std::make_shared<ShardSources>(version->levels, 0, UINT64_MAX);
  active_ = version->active.get();
  {
    const MutexLock lock(mutex_);
    current_ = std::move(version);
  }
  if (options_.background) thread_ = std::thread([this] { Work(); });
}

DynamicIndex::~DynamicIndex() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    stop_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

// --- callers

Status DynamicIndex::Insert(const Record& record) {
  if (Status status = CheckRecord(record); !status.ok()) return status;
  Entry entry(record, Entry::kNever);
  if (Seeded(Bug::kKeysTruncated)) entry.key &= UINT32_MAX;
  Status status = Append(entry);
  if (status.ok()) live_.fetch_add(1, std::memory_order_relaxed);
  return status;
}

Status DynamicIndex::Delete(uint64_t key, uint64_t value) {
  if (options_.deletes == Deletes::kTagging) return Tag(key, value);
  const std::optional<Place> place = FindLive(*Current(), key, value);
  if (!place) return Status::NotFound();
  if (place->buffer == active_) active_->NoteDeletion(*place->entry);
  return DeleteUnchecked(key, value);
}

Status DynamicIndex::DeleteUnchecked(uint64_t key, uint64_t value) {
  if (options_.deletes == Deletes::kTagging) return Tag(key, value);
  if (Seeded(Bug::kTombstoneRefused)) {
    size_t tombstones = 0;
    for (size_t slot = 0; slot < active_->size(); ++slot)
      tombstones += active_->entry(slot).tombstone();
    if (static_cast<double>(tombstones) >=
        options_.max_deleted * static_cast<double>(options_.buffer_records)) {
      live_.fetch_sub(1, std::memory_order_relaxed);
      return Status::Ok();
    }
  }
  Status status = Append({Record{key, value, 0}, Entry::kTombstone});
  if (status.ok()) live_.fetch_sub(1, std::memory_order_relaxed);
  return status;
}

Status DynamicIndex::Sample(const Query& query, size_t k, Random* random,
                            std::vector<Record>* samples) {
  samples->clear();
  if (Status status = CheckQuery(query, k); !status.ok()) return status;
  DrawCounts counts;
  Status status;
  try {
    samples->reserve(k);
    status = Draw(Now(), options_, query, k, random, samples, &counts);
  } catch (const std::bad_alloc&) {
    status =
        Status::NoSpace("sample: expected memory for " + std::to_string(k) + " samples, got none");
  }
  if (!status.ok()) samples->clear();
  draws_.fetch_add(counts.draws, std::memory_order_relaxed);
  accepted_.fetch_add(samples->size(), std::memory_order_relaxed);
  materialised_.fetch_add(counts.materialised ? 1 : 0, std::memory_order_relaxed);
  return status;
}

std::vector<Record> DynamicIndex::Live(const Query& query) const {
  std::vector<Record> records;
  for (const Entry& entry : Materialise(Now(), query)) records.push_back(entry);
  return records;
}

Statistics DynamicIndex::statistics() const {
  const std::shared_ptr<const Version> version = Current();
  Statistics statistics;
  statistics.records = live_.load(std::memory_order_relaxed);
  statistics.bytes = version->active->bytes() + (version->frozen ? version->frozen->bytes() : 0);
  statistics.buffered = version->active->size() + (version->frozen ? version->frozen->size() : 0);
  statistics.levels = version->levels.size();
  for (const Level& level : version->levels) {
    for (const auto& shard : level) {
      ++statistics.shards;
      statistics.deleted += shard->tagged() + shard->tombstones();
      statistics.bytes += shard->bytes();
    }
  }
  statistics.draws = draws_.load(std::memory_order_relaxed);
  statistics.accepted = accepted_.load(std::memory_order_relaxed);
  statistics.materialised = materialised_.load(std::memory_order_relaxed);
  statistics.written = written_.load(std::memory_order_relaxed);
  return statistics;
}

Status DynamicIndex::Verify() const {
  const std::shared_ptr<const Version> version = Current();
  const size_t most_shards = options_.layout == Layout::kTiering ? options_.scale_factor : 1;
  for (size_t i = 0; i < version->levels.size(); ++i) {
    const Level& level = version->levels[i];
    const std::string name = "level " + std::to_string(i) + ": ";
    if (level.size() > most_shards) {
      return Status::Internal(name + "expected at most " + std::to_string(most_shards) +
                              " shards, got " + std::to_string(level.size()));
    }
    if (static_cast<double>(EntriesOf(level)) > CapacityOf(i, options_)) {
      return Status::Internal(name + "expected at most " + std::to_string(CapacityOf(i, options_)) +
                              " entries, got " + std::to_string(EntriesOf(level)));
    }
    size_t deleted = 0;
    for (const auto& shard : level) {
      deleted += shard->tagged() + shard->tombstones();
      if (Status status = shard->Verify(); !status.ok()) {
        return Status::Internal(name + status.message());
      }
    }
    const double most_deleted = options_.max_deleted * CapacityOf(i, options_);
    if (!version->frozen && static_cast<double>(deleted) > most_deleted) {
      return Status::Internal(name + "expected at most " + std::to_string(most_deleted) +
                              " deleted entries, got " + std::to_string(deleted));
    }
  }
  return Status::Ok();
}

// --- the writer

std::shared_ptr<const Version> DynamicIndex::Current() const {
  const MutexLock lock(mutex_);
  return current_;
}

Snapshot DynamicIndex::Now() const {
  const MutexLock lock(mutex_);
  Snapshot snapshot{current_};
  do {  // no tag between the two: the moment is one that was
    snapshot.time = clock_.load(std::memory_order_acquire);
    snapshot.active_entries = current_->active->size();
  } while (clock_.load(std::memory_order_acquire) != snapshot.time);
  return snapshot;
}

Status DynamicIndex::Append(const Entry& entry) {
  constexpr uint64_t kMostEntries = UINT32_MAX;  // that positions in a structure can name
  if (entries_.load(std::memory_order_relaxed) >= kMostEntries) {
    return Status::NoSpace("insert: expected fewer than 2^32 - 1 entries, got as many");
  }
  entries_.fetch_add(1, std::memory_order_relaxed);
  active_->Append(entry);
  if (active_->full()) Freeze();
  return Status::Ok();
}

std::optional<DynamicIndex::Place> DynamicIndex::FindLive(const Version& version, uint64_t key,
                                                          uint64_t value) {
  for (Buffer* buffer : {version.active.get(), version.frozen.get()}) {
    if (buffer == nullptr) continue;
    const size_t slot = buffer->Newest(key, value, buffer->size());
    if (slot == Buffer::kNone) continue;
    Entry* entry = &buffer->entry(slot);
    if (entry->deleted_at() != Entry::kNever) return std::nullopt;
    return Place{entry, buffer, nullptr, 0};
  }
  struct Search {
    Shard* shard;
    size_t level;
    std::span<Entry> near;
  };
  std::vector<Search> searches;  // the newest first
  for (size_t level = 0; level < version.levels.size(); ++level) {
    const Level& shards = version.levels[level];
    for (auto shard = shards.rbegin(); shard != shards.rend(); ++shard)
      searches.push_back({shard->get(), level, (*shard)->Near(key)});
  }
  const uint64_t hash = PairHash(key, value);
  for (const auto& [shard, level, near] : searches) {
    Entry* entry = shard->FindIn(near, key, value);
    if (entry != nullptr) {
      if (entry->deleted_at() != Entry::kNever) return std::nullopt;
      return Place{entry, nullptr, shard, level};
    }
    if (shard->HasTombstone(key, value, hash)) return std::nullopt;
  }
  return std::nullopt;
}

Status DynamicIndex::Tag(uint64_t key, uint64_t value) {
  bool over_bound = false;
  {
    const MutexLock tags(tag_mutex_);
    const std::shared_ptr<const Version> version = Current();
    const std::optional<Place> place = FindLive(*version, key, value);
    if (!place) return Status::NotFound();
    const uint64_t time = clock_.load(std::memory_order_relaxed) + 1;
    if (place->shard != nullptr) {
      place->shard->Tag(place->entry, time);
      over_bound = OverBound(version->levels, place->level, options_);
    } else {
      place->entry->deleted.store(time, std::memory_order_relaxed);
      place->buffer->NoteDeletion(*place->entry);
    }
    if (merging_) late_tags_.push_back({key, value});
    clock_.store(time, std::memory_order_release);
    live_.fetch_sub(1, std::memory_order_relaxed);
  }
  if (over_bound) {
    {
      const MutexLock lock(mutex_);
      bound_due_ = true;
    }
    MergeDue();
  }
  return Status::Ok();
}

void DynamicIndex::Freeze() {
  {
    const MutexLock lock(mutex_);
    while (current_->frozen) changed_.WaitFor(&mutex_, kNap);
    auto version = std::make_shared<Version>(*current_);
    version->frozen = version->active;
    version->active = std::make_shared<Buffer>(options_.buffer_records, *options_.kind);
    active_ = version->active.get();
    current_ = std::move(version);
  }
  MergeDue();
}

void DynamicIndex::Settle() {
  const MutexLock lock(mutex_);
  while (working_ || current_->frozen || bound_due_) changed_.WaitFor(&mutex_, kNap);
}

// --- merging

void DynamicIndex::MergeDue() {
  if (!options_.background) return Merge();
  const MutexLock lock(mutex_);
  changed_.NotifyAll();
}

void DynamicIndex::Work() {
  while (true) {
    {
      const MutexLock lock(mutex_);
      while (!stop_ && !current_->frozen && !bound_due_) changed_.WaitFor(&mutex_, kNap);
      if (stop_) return;
      working_ = true;
    }
    Merge();
    const MutexLock lock(mutex_);
    working_ = false;
    changed_.NotifyAll();
  }
}

void DynamicIndex::Merge() {
  std::shared_ptr<const Version> version;
  uint64_t time = 0;
  {
    const MutexLock tags(tag_mutex_);
    merging_ = true;
    late_tags_.clear();
    time = clock_.load(std::memory_order_relaxed);
    const MutexLock lock(mutex_);
    version = current_;
    bound_due_ = false;
  }
  Rebuild rebuild(options_, version->levels, time);
  if (version->frozen) rebuild.Add(SortedRun(*version->frozen, version->frozen->size()));
  rebuild.KeepBound();
  written_.fetch_add(rebuild.written(), std::memory_order_relaxed);

  const MutexLock tags(tag_mutex_);
  RepeatTags(rebuild.levels(), time);
  merging_ = false;
  Install(*version, rebuild.levels());
}

void DynamicIndex::RepeatTags(const Levels& levels, uint64_t time) {
  if (Seeded(Bug::kLateTagLost)) return;
  for (const Pair& pair : late_tags_) {
    for (const Level& level : levels) {
      for (const auto& shard : level) {
        Entry* entry = shard->Find(pair.key, pair.value);
        // A snapshot that sees this shard is newer than the tag: any time in between will do.
        if (entry != nullptr && entry->deleted_at() == Entry::kNever) shard->Tag(entry, time + 1);
      }
    }
  }
}

void DynamicIndex::Install(const Version& old, const Levels& levels) {
  auto everything = std::make_shared<ShardSources>(levels, 0, UINT64_MAX);
  const MutexLock lock(mutex_);
  auto version = std::make_shared<Version>(*current_);
  if (version->frozen == old.frozen) version->frozen = nullptr;
  version->levels = levels;
  version->everything = std::move(everything);
  uint64_t entries = version->active->size() + (version->frozen ? version->frozen->size() : 0);
  for (const Level& level : levels) entries += EntriesOf(level);
  entries_.store(entries, std::memory_order_relaxed);
  bound_due_ = bound_due_ || (options_.background && OverBound(levels, options_));
  current_ = std::move(version);
  changed_.NotifyAll();
}

// --- opening

Status Index::Open(const Options& options, std::unique_ptr<Index>* index) {
  const auto refuse = [](const char* option, const char* range, double found) {
    return Status::InvalidArgument(std::string("open ") + option + ": expected " + range +
                                   ", got " + std::to_string(found));
  };
  if (options.kind == nullptr) return Status::InvalidArgument("open kind: expected one, got null");
  if (options.scale_factor < 2 || options.scale_factor > 1000) {
    return refuse("scale_factor", "2 to 1000", static_cast<double>(options.scale_factor));
  }
  if (options.buffer_records < 1 || options.buffer_records > size_t{1} << 24) {
    return refuse("buffer_records", "1 to 2^24", static_cast<double>(options.buffer_records));
  }
  if (!(options.max_deleted > 0 && options.max_deleted < 1)) {
    return refuse("max_deleted", "a share between 0 and 1", options.max_deleted);
  }
  if (!(options.filter_false_positives > 0 && options.filter_false_positives <= 1)) {
    return refuse("filter_false_positives", "a rate above 0, at most 1",
                  options.filter_false_positives);
  }
  *index = std::make_unique<DynamicIndex>(options);
  return Status::Ok();
}

}  // namespace sampling
