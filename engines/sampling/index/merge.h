// Merging sorted runs of entries: what survives of records, tags and tombstones.
// Owns nothing but the merge's own state. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "index/buffer.h"
#include "kvdyno/base/status.h"
#include "sampling/structure.h"
#include "structure/seeded_bugs.h"

namespace sampling {

using kvdyno::Status;

// The buffer's first `count` entries, sorted by (key, value), those of one pair in order of arrival.
std::vector<Entry> SortedRun(const Buffer& buffer, size_t count);

// Sorted entries, block by block.
class Run {
 public:
  virtual ~Run() = default;
  // The next entries, which stay until the next call; none: the run has ended.
  virtual Status Next(std::span<const Entry>* block) = 0;
  virtual size_t size() const = 0;  // entries of all blocks
};

// Entries in memory, which outlive the run: one block.
class MemoryRun final : public Run {
 public:
  explicit MemoryRun(std::span<const Entry> entries) : left_(entries), size_(entries.size()) {}
  Status Next(std::span<const Entry>* block) override {
    *block = left_;
    left_ = {};
    return Status::Ok();
  }
  size_t size() const override { return size_; }

 private:
  std::span<const Entry> left_;
  const size_t size_;
};

using Runs = std::vector<std::unique_ptr<Run>>;  // the oldest first

// The runs' entries in order of pair and then of age: a tree of losers (Knuth, volume 3, section 5.4.1), whose leaves
// are the runs. Pairs are kept beside the tree, so that a match reads no entry.
class Heads {
 public:
  explicit Heads(Runs runs);
  // What the runs' blocks cost; the end comes early when it is not Ok.
  const Status& status() const { return status_; }
  bool empty() const { return runs_.empty() || heads_[winner_].at == nullptr; }
  const Entry& Next() const { return *heads_[winner_].at; }
  void Advance() {
    Head& head = heads_[winner_];
    if (++head.at == head.end) {
      Refill(winner_);
    } else {
      head.pair = PairOf(*head.at);
    }
    size_t winner = winner_;
    for (size_t node = (winner + runs_.size()) / 2; node > 0; node /= 2) {
      const size_t other = losers_[node];
      const bool loses = Before(heads_[other], heads_[winner]);
      losers_[node] = loses ? winner : other;
      winner = loses ? other : winner;
    }
    winner_ = winner;
  }

 private:
  __extension__ using PairNumber = unsigned __int128;  // in the order of (key, value)
  struct Head {
    PairNumber pair;
    size_t order;  // age; behind every age once the run has ended
    const Entry* at;
    const Entry* end;
  };

  static PairNumber PairOf(const Entry& entry) {
    return static_cast<PairNumber>(entry.key) << 64 | entry.value;
  }
  static bool Before(const Head& a, const Head& b) {
    return a.pair < b.pair || (a.pair == b.pair && a.order < b.order);
  }
  void Refill(size_t run);

  Runs runs_;
  std::vector<Head> heads_;
  std::vector<size_t> losers_;  // of the match at each node; the first is unused
  size_t winner_ = 0;
  Status status_;
};

// Merges runs and calls emit(entry) with what survives, in order, while it returns true. Records that were tagged by
// `time` are dropped. A tombstone and the older record that it deletes both go. Other tombstones stay, unless the
// runs hold the index's oldest entries: then nothing is left for them to delete.
//
// A pair that was deleted and inserted again may leave a tombstone and, behind it, a record: the tombstone still
// deletes the first record, in an older run elsewhere.
template <typename Emit>
Status Merge(Runs runs, uint64_t time, bool oldest, Emit emit) {
  Record pair;  // the one under way; the weight is its live record's
  bool tombstone = false, record = false, wanted = true;
  const auto flush = [&] {
    if (Seeded(Bug::kTombstoneForgotten)) tombstone = false;
    if (Seeded(Bug::kReinsertHidden) && record) tombstone = false;
    if (tombstone && !oldest && wanted)
      wanted = emit(Entry{{pair.key, pair.value, 0}, Entry::kTombstone});
    if (record && wanted) wanted = emit(Entry{pair, Entry::kNever});
    tombstone = record = false;
  };
  Heads heads(std::move(runs));
  for (; !heads.empty() && wanted; heads.Advance()) {
    const Entry& entry = heads.Next();
    const bool deletes = entry.tombstone();
    if (!deletes && !entry.LiveAt(time)) continue;
    if (entry.key != pair.key || entry.value != pair.value) flush();
    pair = entry;
    tombstone = tombstone || (deletes && !record);
    record = !deletes;
  }
  if (heads.status().ok()) flush();
  return heads.status();
}

}  // namespace sampling
