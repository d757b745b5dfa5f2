// When the index merges, what it does with the outcome, and the memory that external mode shares out afterwards.
#include <algorithm>
#include <optional>
#include <utility>

#include "index/budget.h"
#include "index/dynamic_index.h"
#include "index/merge.h"
#include "structure/give_way.h"
#include "structure/seeded_bugs.h"

namespace sampling {
namespace {

using kvdyno::MutexLock;

constexpr auto kNap = std::chrono::seconds(1);  // waits are notified; this bounds a lost one

}  // namespace

Status DynamicIndex::Freeze() {
  bool retry = false;
  {
    const MutexLock lock(mutex_);
    retry = current_->frozen && !options_.background;
  }
  if (retry) Merge();
  {
    const MutexLock lock(mutex_);
    ++waiting_;
    while (current_->frozen && failure_.ok()) changed_.WaitFor(&mutex_, kNap);
    --waiting_;
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
  ++waiting_;
  while (working_ || (due() && failure_.ok())) changed_.WaitFor(&mutex_, kNap);
  --waiting_;
}

void DynamicIndex::MergeDue() {
  if (!options_.background) return Merge();
  const MutexLock lock(mutex_);
  failure_ = Status::Ok();
  changed_.NotifyAll();
}

void DynamicIndex::Work() {
  waiting_callers = &waiting_;
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
  // External mode has no room for memory that no array uses.
  std::pmr::memory_resource* const memory = scratch_ ? std::pmr::get_default_resource() : &arena_;
  Rebuild rebuild(options_, scratch_, memory, version->levels, time);
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

void DynamicIndex::ShareMemory(const Levels& levels) {
  double taken = static_cast<double>(options_.buffer_records) * Budget::kBufferEntryBytes;
  for (const Level& level : levels) {
    for (const auto& shard : level) {
      // A merge makes a shard on disk while the ones that it replaces are there.
      taken += static_cast<double>(shard->bytes()) * (shard->data() == nullptr ? 2 : 1);
    }
  }
  const double left = static_cast<double>(options_.memory_bytes) - taken - Budget::Merge(options_);
  over_cap_.store(left < Budget::LeastCache(options_), std::memory_order_relaxed);
  scratch_->cache().SetBytes(static_cast<size_t>(std::max(left, 0.0)));
}

}  // namespace sampling
