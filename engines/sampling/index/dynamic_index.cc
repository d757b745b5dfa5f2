#include "index/dynamic_index.h"

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "structure/seeded_bugs.h"

namespace sampling {
namespace {

using kvdyno::MutexLock;

}  // namespace

DynamicIndex::DynamicIndex(const Options& options, std::shared_ptr<Scratch> scratch)
    : options_(options), scratch_(std::move(scratch)) {
  auto version = std::make_shared<Version>();
  version->active = std::make_shared<Buffer>(options_.buffer_records, *options_.kind);
  version->everything = std::make_shared<ShardSources>(version->levels, 0, UINT64_MAX);
  active_ = version->active.get();
  {
    const MutexLock lock(mutex_);
    current_ = std::move(version);
  }
  if (scratch_) ShareMemory({});
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
  Place place;
  const std::shared_ptr<const Version> version = Current();
  if (Status status = FindLive(*version, key, value, &place); !status.ok()) return status;
  const bool buffered = place.buffer == active_;
  Status status = DeleteUnchecked(key, value);
  if (status.ok() && buffered) place.buffer->NoteDeletion(place.buffer->entry(place.slot));
  return status;
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
  if (counts.materialised) materialised_.fetch_add(1, std::memory_order_relaxed);
  return status;
}

Status DynamicIndex::Live(const Query& query, std::vector<Record>* records) const {
  records->clear();
  Status status =
      VisitLive(Now(), query, [&](const Record& record) { records->push_back(record); });
  if (!status.ok()) records->clear();
  return status;
}

Statistics DynamicIndex::statistics() const {
  const std::shared_ptr<const Version> version = Current();
  Statistics statistics;
  statistics.records = live_.load(std::memory_order_relaxed);
  statistics.bytes =
      version->active->bytes() + (version->frozen ? version->frozen->bytes() : 0) + arena_.kept();
  statistics.buffered = version->active->size() + (version->frozen ? version->frozen->size() : 0);
  statistics.levels = version->levels.size();
  for (const Level& level : version->levels) {
    for (const auto& shard : level) {
      ++statistics.shards;
      statistics.deleted += shard->tagged() + shard->tombstones();
      statistics.bytes += shard->bytes();
      statistics.disk_bytes += shard->disk_bytes();
    }
  }
  if (scratch_) {
    statistics.bytes += scratch_->cache().bytes();
    statistics.pages_read = scratch_->cache().pages_read();
    statistics.page_hits = scratch_->cache().hits();
    statistics.pages_written = scratch_->pages_written();
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
      Status status = shard->Verify();
      if (status.code() == kvdyno::Code::kInternal)
        return Status::Internal(name + status.message());
      if (!status.ok()) return status;
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
  Snapshot snapshot{current_, 0, 0, scratch_ ? &scratch_->cache() : nullptr};
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
  if (over_cap_.load(std::memory_order_relaxed)) {
    return Status::NoSpace("insert: expected the index to fit into memory_bytes = " +
                           std::to_string(options_.memory_bytes) +
                           " with a tenth to spare for pages, got more; raise it");
  }
  if (active_->full()) {
    if (Status status = Freeze(); !status.ok()) return status;
  }
  entries_.fetch_add(1, std::memory_order_relaxed);
  active_->Append(entry);
  // A failure here is not this call's: its record is in. The next call that needs room reports it.
  if (active_->full()) static_cast<void>(Freeze());
  return Status::Ok();
}

Status DynamicIndex::FindLive(const Version& version, uint64_t key, uint64_t value,
                              Place* place) const {
  for (Buffer* buffer : {version.active.get(), version.frozen.get()}) {
    if (buffer == nullptr) continue;
    const size_t slot = buffer->Newest(key, value, buffer->size());
    if (slot == Buffer::kNone) continue;
    if (buffer->entry(slot).deleted_at() != Entry::kNever) return Status::NotFound();
    *place = {buffer, slot, nullptr, {}, 0};
    return Status::Ok();
  }
  return FindInShards(version.levels, key, value, place);
}

Status DynamicIndex::FindInShards(const Levels& levels, uint64_t key, uint64_t value,
                                  Place* place) const {
  // A tombstone hides what is older, so the newest come first. Tags hide nothing: then the largest shards in memory
  // come first, which are the likeliest.
  const bool newest_first = options_.deletes == Deletes::kTombstones || scratch_;
  const Probes probes(key, value);
  std::vector<std::span<const Entry>> near;
  for (size_t i = 0; i < levels.size(); ++i) {
    const size_t at = newest_first ? i : levels.size() - 1 - i;
    const Level& level = levels[at];
    near.clear();
    for (int step = 0; step < Shard::kApproaches; ++step) {
      for (const auto& shard : level) shard->Approach(key, step);
    }
    for (const auto& shard : level) near.push_back(shard->Near(key));
    for (size_t j = level.size(); j-- > 0;) {
      std::optional<Shard::Found> found;
      Status status = level[j]->FindIn(near[j], key, value, &found);
      if (!status.ok()) return status;
      if (found && found->deleted_at == Entry::kNever) {
        *place = {nullptr, 0, level[j].get(), *found, at};
        return Status::Ok();
      }
      if (level[j]->HasTombstone(key, value, probes)) return Status::NotFound();
    }
  }
  return Status::NotFound();
}

Status DynamicIndex::Tag(uint64_t key, uint64_t value) {
  bool over_bound = false;
  {
    const MutexLock tags(tag_mutex_);
    const std::shared_ptr<const Version> version = Current();
    Place place;
    if (Status status = FindLive(*version, key, value, &place); !status.ok()) return status;
    const uint64_t time = clock_.load(std::memory_order_relaxed) + 1;
    if (place.shard != nullptr) {
      place.shard->Tag(place.found, time);
      over_bound = OverBound(version->levels, place.level, options_);
    } else {
      Entry& entry = place.buffer->entry(place.slot);
      entry.deleted.store(time, std::memory_order_relaxed);
      place.buffer->NoteDeletion(entry);
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

}  // namespace sampling
