// DynamicIndex: the index behind the interface.
// Owns the current version, its replacement, the clock of deletions, and the thread that merges, if there is
// one. One writer; samplers take a snapshot under a lock that is held for a pointer's copy.
//
// Consistency: a sampler's moment is the active buffer's size and the clock. The writer appends or tags
// first, and then publishes by size or clock. While a merge is under way, tags go to the old shards,
// which snapshots still see, and are repeated on the new ones before these are installed.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "index/arena.h"
#include "index/snapshot.h"
#include "kvdyno/base/mutex.h"
#include "sampling/index.h"

namespace sampling {

class DynamicIndex final : public Index {
 public:
  DynamicIndex(const Options& options, std::shared_ptr<Scratch> scratch);
  ~DynamicIndex() override;

  Status Insert(const Record& record) override;
  Status Delete(uint64_t key, uint64_t value) override;
  Status DeleteUnchecked(uint64_t key, uint64_t value) override;
  Status Sample(const Query& query, size_t k, Random* random,
                std::vector<Record>* samples) override;
  Status Live(const Query& query, std::vector<Record>* records) const override;
  void Settle() override;
  Statistics statistics() const override;
  Status Verify() const override;

 private:
  struct Pair {
    uint64_t key;
    uint64_t value;
  };
  // Where a live record is: in a buffer, or in a shard of that level.
  struct Place {
    Buffer* buffer;  // null: a shard
    size_t slot;
    Shard* shard;
    Shard::Found found;
    size_t level;
  };

  std::shared_ptr<const Version> Current() const;
  Snapshot Now() const;
  // NotFound where it is not live.
  Status FindLive(const Version& version, uint64_t key, uint64_t value, Place* place) const;
  Status FindInShards(const Levels& levels, uint64_t key, uint64_t value, Place* place) const;
  Status Append(const Entry& entry);
  Status Tag(uint64_t key, uint64_t value);
  // Freezes the active buffer, and merges it or asks the thread to. Fails where the frozen one before it could not
  // be merged; nothing has changed then.
  Status Freeze();
  void MergeDue();
  // Merges what is due. Keeps the reason of a failure.
  void Merge();
  static Status Rebuilt(const Version& version, Rebuild* rebuild);
  Status RepeatTags(const Levels& levels, uint64_t time) KVDYNO_REQUIRES(tag_mutex_);
  void Install(const Version& old, const Levels& levels) KVDYNO_EXCLUDES(mutex_);
  // Gives the cache what the cap leaves.
  void ShareMemory(const Levels& levels);
  void Work();

  const Options options_;
  Arena arena_{0.25};                       // of shards; outlives every version and query
  const std::shared_ptr<Scratch> scratch_;  // null: all levels are in memory
  std::atomic<bool> over_cap_{false};
  std::atomic<int> waiting_{0};  // callers, for a merge in the background
  // The writer's own way to the active buffer, which the current version owns.
  Buffer* active_;
  std::atomic<uint64_t> clock_{0};  // deletions by tagging
  std::atomic<uint64_t> live_{0};
  std::atomic<uint64_t> entries_{0};  // that were appended, without those that merges dropped
  std::atomic<uint64_t> written_{0};
  std::atomic<uint64_t> draws_{0}, accepted_{0}, materialised_{0};

  // Outside of mutex_. Held by a tag, and by a merge when it begins and when it installs.
  kvdyno::Mutex tag_mutex_;
  bool merging_ KVDYNO_GUARDED_BY(tag_mutex_) = false;
  std::vector<Pair> late_tags_ KVDYNO_GUARDED_BY(tag_mutex_);  // since the merge began

  mutable kvdyno::Mutex mutex_;
  kvdyno::CondVar changed_;
  std::shared_ptr<const Version> current_ KVDYNO_GUARDED_BY(mutex_);
  Status failure_
      KVDYNO_GUARDED_BY(mutex_);  // of the last merge; nothing merges until it was reported
  bool bound_due_ KVDYNO_GUARDED_BY(mutex_) = false;  // a tag brought a level over the bound
  bool working_ KVDYNO_GUARDED_BY(mutex_) = false;
  bool stop_ KVDYNO_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace sampling
