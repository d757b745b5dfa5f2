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
#include "structure/give_way.h"
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
// are the runs. Keys lie in the tree's nodes, so that a match reads nothing else, and who wins it is arithmetic: a
// branch on it would be guessed wrongly every other time.
class Heads {
 public:
  explicit Heads(Runs runs);
  // What the runs' blocks cost; the end comes early when it is not Ok.
  const Status& status() const { return status_; }
  bool empty() const { return runs_.empty() || heads_[winner_.run].at == nullptr; }
  const Entry& Next() const { return *heads_[winner_.run].at; }
  void Advance() {
    Head& head = heads_[winner_.run];
    if (++head.at == head.end) Refill(winner_.run);
    Match winner{head.at == nullptr ? UINT64_MAX : head.at->key, winner_.run};
    for (size_t node = (winner.run + runs_.size()) / 2; node > 0; node /= 2) {
      Match& other = losers_[node];
      const bool loses =
          other.key < winner.key || (other.key == winner.key && FirstOfTie(other.run, winner.run));
      const uint64_t swap = -static_cast<uint64_t>(loses);
      const uint64_t keys = (other.key ^ winner.key) & swap;
      const uint64_t runs = (other.run ^ winner.run) & swap;
      other = {other.key ^ keys, other.run ^ runs};
      winner = {winner.key ^ keys, winner.run ^ runs};
    }
    winner_ = winner;
  }

 private:
  struct Head {
    const Entry* at;  // null: the run has ended
    const Entry* end;
  };
  struct Match {
    uint64_t key;  // the largest one behind a run's end
    uint64_t run;  // the lower, the older
  };

  // Whether run a comes before b, given that their keys are equal.
  bool FirstOfTie(size_t a, size_t b) const;
  void Refill(size_t run);

  Runs runs_;
  std::vector<Head> heads_;
  std::vector<Match> losers_;  // of the match at each node; the first is unused
  Match winner_{0, 0};
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
  Heads heads(std::move(runs));
  bool wanted = true;
  for (size_t step = 0; wanted && !heads.empty(); ++step) {
    GiveWay(step);
    Entry entry = heads.Next();
    heads.Advance();
    const auto ended = [&] {
      return heads.empty() || heads.Next().key != entry.key || heads.Next().value != entry.value;
    };
    if (entry.deleted_at() == Entry::kNever && ended()) {  // nearly always
      if (!heads.status().ok()) break;
      wanted = emit(entry);
      continue;
    }
    Record pair = entry;  // the weight is the live record's
    bool tombstone = false, record = false;
    while (true) {
      if (entry.tombstone()) {
        tombstone = tombstone || !record;
        record = false;
      } else if (entry.LiveAt(time)) {
        pair = entry;
        record = true;
      }
      if (ended()) break;
      entry = heads.Next();
      heads.Advance();
    }
    if (!heads.status().ok()) break;
    if (Seeded(Bug::kTombstoneForgotten)) tombstone = false;
    if (Seeded(Bug::kReinsertHidden) && record) tombstone = false;
    if (tombstone && !oldest) wanted = emit(Entry{{pair.key, pair.value, 0}, Entry::kTombstone});
    if (record && wanted) wanted = emit(Entry{pair, Entry::kNever});
  }
  return heads.status();
}

}  // namespace sampling
