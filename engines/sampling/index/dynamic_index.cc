#include "index/dynamic_index.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "external/disk_shard.h"
#include "index/merge.h"
#include "structure/seeded_bugs.h"

namespace sampling {
namespace {

using kvdyno::MutexLock;

constexpr auto kNap = std::chrono::seconds(1);  // waits are notified; this bounds a lost one

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
  materialised_.fetch_add(counts.materialised ? 1 : 0, std::memory_order_relaxed);
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
  statistics.bytes = version->active->bytes() + (version->frozen ? version->frozen->bytes() : 0);
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

Status DynamicIndex::FindLive(const Version& version, uint64_t key, uint64_t value, Place* place) {
  for (Buffer* buffer : {version.active.get(), version.frozen.get()}) {
    if (buffer == nullptr) continue;
    const size_t slot = buffer->Newest(key, value, buffer->size());
    if (slot == Buffer::kNone) continue;
    if (buffer->entry(slot).deleted_at() != Entry::kNever) return Status::NotFound();
    *place = {buffer, slot, nullptr, {}, 0};
    return Status::Ok();
  }
  struct Search {
    Shard* shard;
    size_t level;
    std::span<const Entry> near;
  };
  std::vector<Search> searches;  // the newest first
  for (size_t level = 0; level < version.levels.size(); ++level) {
    const Level& shards = version.levels[level];
    for (auto shard = shards.rbegin(); shard != shards.rend(); ++shard)
      searches.push_back({shard->get(), level, (*shard)->Near(key)});
  }
  const uint64_t hash = PairHash(key, value);
  for (const auto& [shard, level, near] : searches) {
    std::optional<Shard::Found> found;
    if (Status status = shard->FindIn(near, key, value, &found); !status.ok()) return status;
    if (found) {
      if (found->deleted_at != Entry::kNever) return Status::NotFound();
      *place = {nullptr, 0, shard, *found, level};
      return Status::Ok();
    }
    if (shard->HasTombstone(key, value, hash)) return Status::NotFound();
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

Status DynamicIndex::Freeze() {
  bool retry = false;
  {
    const MutexLock lock(mutex_);
    retry = current_->frozen && !options_.background;
  }
  if (retry) Merge();
  {
    const MutexLock lock(mutex_);
    while (current_->frozen && failure_.ok()) changed_.WaitFor(&mutex_, kNap);
    if (current_->frozen) {
      Status failure = failure_;
      if (options_.background) failure_ = Status::Ok();  // the thread tries again
      changed_.NotifyAll();
      return failure;
    }
    auto version = std::make_shared<Version>(*current_);
    version->frozen = version->active;
    version->active = std::make_shared<Buffer>(options_.buffer_records, *options_.kind);
    active_ = version->active.get();
    current_ = std::move(version);
  }
  MergeDue();
  return Status::Ok();
}

void DynamicIndex::Settle() {
  const MutexLock lock(mutex_);
  const auto due = [&]() KVDYNO_REQUIRES(mutex_) { return current_->frozen || bound_due_; };
  while (working_ || (due() && failure_.ok())) changed_.WaitFor(&mutex_, kNap);
}

// --- merging

void DynamicIndex::MergeDue() {
  if (!options_.background) return Merge();
  const MutexLock lock(mutex_);
  failure_ = Status::Ok();
  changed_.NotifyAll();
}

void DynamicIndex::Work() {
  while (true) {
    {
      const MutexLock lock(mutex_);
      while (!stop_ && ((!current_->frozen && !bound_due_) || !failure_.ok()))
        changed_.WaitFor(&mutex_, kNap);
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
  Rebuild rebuild(options_, scratch_, version->levels, time);
  Status status = Rebuilt(*version, &rebuild);

  const MutexLock tags(tag_mutex_);
  if (status.ok()) status = RepeatTags(rebuild.levels(), time);
  merging_ = false;
  if (status.ok()) {
    written_.fetch_add(rebuild.written(), std::memory_order_relaxed);
    Install(*version, rebuild.levels());
  }
  const MutexLock lock(mutex_);
  if (!status.ok()) bound_due_ = bound_due_ || !version->frozen;
  failure_ = std::move(status);
  changed_.NotifyAll();
}

Status DynamicIndex::Rebuilt(const Version& version, Rebuild* rebuild) {
  if (version.frozen) {
    Status status = rebuild->Add(SortedRun(*version.frozen, version.frozen->size()));
    if (!status.ok()) return status;
  }
  return rebuild->KeepBound();
}

Status DynamicIndex::RepeatTags(const Levels& levels, uint64_t time) {
  if (Seeded(Bug::kLateTagLost)) return Status::Ok();
  for (const Pair& pair : late_tags_) {
    for (const Level& level : levels) {
      for (const auto& shard : level) {
        std::optional<Shard::Found> found;
        Status status = shard->Find(pair.key, pair.value, &found);
        if (!status.ok()) return status;
        // A snapshot that sees this shard is newer than the tag: any time in between will do.
        if (found && found->deleted_at == Entry::kNever) shard->Tag(*found, time + 1);
      }
    }
  }
  return Status::Ok();
}

void DynamicIndex::Install(const Version& old, const Levels& levels) {
  auto everything = std::make_shared<ShardSources>(levels, 0, UINT64_MAX);
  if (scratch_) ShareMemory(levels);
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

// --- external mode

namespace {

// A buffer takes this per entry, a merge's copies of it included.
constexpr size_t kBufferEntryBytes = 256;
// A shard in memory takes this, with the largest structure.
constexpr size_t kShardEntryBytes = 64;

double LevelsBytes(const Options& options) {
  double bytes = 0;
  for (size_t level = 0; level < options.memory_levels; ++level)
    bytes += CapacityOf(level, options) * kShardEntryBytes;
  return bytes;
}

// What a merge needs beside the shards that it replaces: those in memory that it makes, and blocks of files.
double MergeBytes(const Options& options) {
  const double blocks = static_cast<double>(options.scale_factor + 2) * DiskShardWriter::kBytes;
  return LevelsBytes(options) + blocks;
}

double LeastCache(const Options& options) { return static_cast<double>(options.memory_bytes) / 10; }

double LeastMemory(const Options& options) {
  const double buffers = static_cast<double>(options.buffer_records) * kBufferEntryBytes;
  return (buffers + LevelsBytes(options) + MergeBytes(options)) * 10 / 9;
}

}  // namespace

void DynamicIndex::ShareMemory(const Levels& levels) {
  double taken = static_cast<double>(options_.buffer_records) * kBufferEntryBytes;
  for (const Level& level : levels) {
    for (const auto& shard : level) {
      // A merge makes a shard on disk while the ones that it replaces are there.
      taken += static_cast<double>(shard->bytes()) * (shard->data() == nullptr ? 2 : 1);
    }
  }
  const double left = static_cast<double>(options_.memory_bytes) - taken - MergeBytes(options_);
  over_cap_.store(left < LeastCache(options_), std::memory_order_relaxed);
  scratch_->cache().SetBytes(static_cast<size_t>(std::max(left, 0.0)));
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
  std::shared_ptr<Scratch> scratch;
  if (!options.directory.empty()) {
    if (options.memory_levels > 20)
      return refuse("memory_levels", "0 to 20", static_cast<double>(options.memory_levels));
    if (static_cast<double>(options.memory_bytes) < LeastMemory(options)) {
      const std::string least = "at least " + std::to_string(std::ceil(LeastMemory(options))) +
                                " for these buffers and levels in memory";
      return refuse("memory_bytes", least.c_str(), static_cast<double>(options.memory_bytes));
    }
    kvdyno::FileSystem* const files =
        options.files != nullptr ? options.files : kvdyno::FileSystem::Posix();
    if (Status status = Scratch::Open(files, options.directory, &scratch); !status.ok())
      return status;
  }
  *index = std::make_unique<DynamicIndex>(options, std::move(scratch));
  return Status::Ok();
}

}  // namespace sampling
