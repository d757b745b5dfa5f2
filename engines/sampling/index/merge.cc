#include "index/merge.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "structure/seeded_bugs.h"

namespace sampling {
namespace {

// The runs' heads, as a heap by pair and then by age.
class Heads {
 public:
  explicit Heads(const std::vector<std::span<const Entry>>& runs) {
    for (size_t age = 0; age < runs.size(); ++age) {
      if (!runs[age].empty())
        heads_.push_back({runs[age].data(), runs[age].data() + runs[age].size(), age});
    }
    for (size_t at = heads_.size(); at > 0; --at) Sift(at - 1);
  }

  bool empty() const { return heads_.empty(); }
  const Entry& Next() const { return *heads_.front().at; }
  void Advance() {
    Head& head = heads_.front();
    if (++head.at == head.end) {
      head = heads_.back();
      heads_.pop_back();
    }
    Sift(0);
  }

 private:
  struct Head {
    const Entry* at;
    const Entry* end;
    size_t age;
  };

  static bool Before(const Head& a, const Head& b) {
    return std::tie(a.at->key, a.at->value, a.age) < std::tie(b.at->key, b.at->value, b.age);
  }
  void Sift(size_t at) {
    while (true) {
      size_t least = at;
      const size_t left = 2 * at + 1;
      for (size_t child = left; child < std::min(left + 2, heads_.size()); ++child) {
        if (Before(heads_[child], heads_[least])) least = child;
      }
      if (least == at) return;
      std::swap(heads_[at], heads_[least]);
      at = least;
    }
  }

  std::vector<Head> heads_;
};

// What survives of the entries of one pair, which arrive in order of age.
class Survivors {
 public:
  Survivors(bool oldest, std::vector<Entry>* merged) : oldest_(oldest), merged_(merged) {}

  void Add(const Entry& entry) {
    if (!any_ || entry.key != key_ || entry.value != value_) Flush();
    any_ = true;
    key_ = entry.key;
    value_ = entry.value;
    if (!entry.tombstone()) {
      record_ = &entry;
    } else if (record_ != nullptr) {
      record_ = nullptr;
    } else {
      tombstone_ = true;
    }
  }
  void Flush() {
    if (Seeded(Bug::kTombstoneForgotten)) tombstone_ = false;
    if (Seeded(Bug::kReinsertHidden) && record_ != nullptr) tombstone_ = false;
    if (tombstone_ && !oldest_) merged_->emplace_back(Record{key_, value_, 0}, Entry::kTombstone);
    if (record_ != nullptr) merged_->emplace_back(*record_, Entry::kNever);
    tombstone_ = false;
    record_ = nullptr;
  }

 private:
  const bool oldest_;
  std::vector<Entry>* const merged_;
  bool any_ = false;
  uint64_t key_ = 0;
  uint64_t value_ = 0;
  bool tombstone_ = false;         // for records in older runs
  const Entry* record_ = nullptr;  // the live one
};

}  // namespace

std::vector<Entry> SortedRun(const Buffer& buffer, size_t count) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  // Slots, not entries: a stable sort of entries would put copies into memory without their alignment.
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const Entry& left = buffer.entry(a);
    const Entry& right = buffer.entry(b);
    return std::tie(left.key, left.value, a) < std::tie(right.key, right.value, b);
  });
  std::vector<Entry> run;
  run.reserve(count);
  for (const uint32_t slot : order) run.push_back(buffer.entry(slot));
  return run;
}

std::vector<Entry> Merge(const std::vector<std::span<const Entry>>& runs, uint64_t time,
                         bool oldest) {
  size_t entries = 0;
  for (const std::span<const Entry> run : runs) entries += run.size();
  std::vector<Entry> merged;
  merged.reserve(entries);
  Survivors survivors(oldest, &merged);
  for (Heads heads(runs); !heads.empty(); heads.Advance()) {
    const Entry& entry = heads.Next();
    if (entry.tombstone() || entry.LiveAt(time)) survivors.Add(entry);
  }
  survivors.Flush();
  return merged;
}

}  // namespace sampling
