// A shard whose entries lie in one array.
#include <algorithm>

#include "index/shard.h"
#include "structure/key_range.h"

namespace sampling {
namespace {

class MemoryShard final : public Shard {
 public:
  MemoryShard(std::vector<Entry> entries, const Kind& kind, double filter_false_positives)
      : Shard(kind), entries_(std::move(entries)), structure_(kind.build(entries_)) {
    fences_.reserve((entries_.size() + kFenceEvery - 1) / kFenceEvery);
    for (size_t i = 0; i < entries_.size(); ++i) {
      const Entry& entry = entries_[i];
      if (i % kFenceEvery == 0) fences_.push_back(entry.key);
      mass_ += kind.Counts(entry);
      if (entry.tombstone()) tombstones_.Add(entry);
    }
    tombstones_.MakeFilter(filter_false_positives);
  }

  size_t size() const override { return entries_.size(); }
  const Entry* data() const override { return entries_.data(); }
  std::unique_ptr<Run> Entries(uint64_t first, uint64_t last) const override {
    const auto [begin, end] = PositionsOf(entries_, first, last);
    return std::make_unique<MemoryRun>(std::span(entries_).subspan(begin, end - begin));
  }
  std::unique_ptr<Selection> Select(uint64_t first, uint64_t last) const override {
    return structure_->Select(first, last);
  }
  std::span<const Entry> Near(uint64_t key) const override;
  Status FindIn(std::span<const Entry> near, uint64_t key, uint64_t value,
                std::optional<Found>* found) const override;
  size_t bytes() const override {
    return entries_.capacity() * sizeof(Entry) + fences_.capacity() * sizeof(uint64_t) +
           tombstones_.bytes() + structure_->bytes();
  }

 private:
  static constexpr size_t kFenceEvery = 32;  // entries

  void Mark(size_t position, uint64_t time) override {
    entries_[position].deleted.store(time, std::memory_order_relaxed);
  }

  std::vector<Entry> entries_;
  std::vector<uint64_t> fences_;  // the keys of every 32nd entry
  const std::unique_ptr<Structure> structure_;
};

std::span<const Entry> MemoryShard::Near(uint64_t key) const {
  // How many fences are below the key, without a branch that the processor could guess wrongly.
  const uint64_t* base = fences_.data();
  for (size_t left = fences_.size(); left > 0;) {
    const size_t half = (left + 1) / 2;
    base += half * static_cast<size_t>(base[half - 1] < key);
    left -= half;
  }
  const auto below = static_cast<size_t>(base - fences_.data());
  const size_t begin = below == 0 ? 0 : (below - 1) * kFenceEvery;
  size_t end = below;  // of the blocks that may hold the key
  if (end < fences_.size() && fences_[end] == key) {
    end = static_cast<size_t>(
        std::upper_bound(fences_.begin() + static_cast<ptrdiff_t>(end), fences_.end(), key) -
        fences_.begin());
  }
  const std::span<const Entry> near =
      std::span(entries_).subspan(begin, std::min(end * kFenceEvery, entries_.size()) - begin);
  // The entries that a bisection reads first.
  for (size_t eighth = 1; eighth < 8; ++eighth) {
    __builtin_prefetch(near.data() + near.size() * eighth / 8);
  }
  return near;
}

Status MemoryShard::FindIn(std::span<const Entry> near, uint64_t key, uint64_t value,
                           std::optional<Found>* found) const {
  found->reset();
  auto at = std::partition_point(near.begin(), near.end(), [&](const Entry& entry) {
    return entry.key < key || (entry.key == key && entry.value < value);
  });
  if (at != near.end() && at->tombstone() && at->key == key && at->value == value) ++at;
  if (at != near.end() && at->key == key && at->value == value) {
    *found = Found{static_cast<size_t>(&*at - entries_.data()), at->weight, at->deleted_at()};
  }
  return Status::Ok();
}

}  // namespace

std::shared_ptr<Shard> MakeMemoryShard(std::vector<Entry> entries, const Kind& kind,
                                       double filter_false_positives) {
  return std::make_shared<MemoryShard>(std::move(entries), kind, filter_false_positives);
}

}  // namespace sampling
