// A shard whose entries lie in one array.
#include <algorithm>

#include "index/memory_shard.h"
#include "structure/key_range.h"
#include "structure/large.h"

namespace sampling {

class MemoryShard final : public Shard {
 public:
  explicit MemoryShard(MemoryShardWriter* writer)
      : Shard(writer->kind_),
        entries_(std::move(writer->entries_)),
        fences_(std::move(writer->fences_)),
        structure_(kind_.build(entries_, writer->mass_, entries_.get_allocator().resource())) {
    mass_ = writer->mass_;
    tombstones_ = std::move(writer->tombstones_);
    tombstones_.MakeFilter(writer->false_positives_);
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
  void Approach(uint64_t key, int step) const override { fences_.Approach(key, step); }
  std::span<const Entry> Near(uint64_t key) const override;
  Status FindIn(std::span<const Entry> near, uint64_t key, uint64_t value,
                std::optional<Found>* found) const override;
  size_t bytes() const override {
    return entries_.capacity() * sizeof(Entry) + fences_.bytes() + tombstones_.bytes() +
           structure_->bytes();
  }

 private:
  void Mark(size_t position, uint64_t time) override {
    entries_[position].deleted.store(time, std::memory_order_relaxed);
  }

  std::pmr::vector<Entry> entries_;
  const Fences fences_;
  const std::unique_ptr<Structure> structure_;
};

std::span<const Entry> MemoryShard::Near(uint64_t key) const {
  const size_t below = fences_.Below(key);
  const size_t begin = below == 0 ? 0 : (below - 1) * Fences::kEvery;
  const size_t end = fences_.AtMost(key, below);  // of the blocks that may hold the key
  const std::span<const Entry> near =
      std::span(entries_).subspan(begin, std::min(end * Fences::kEvery, entries_.size()) - begin);
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

MemoryShardWriter::MemoryShardWriter(const Kind& kind, double filter_false_positives, size_t most,
                                     std::pmr::memory_resource* memory)
    : kind_(kind), false_positives_(filter_false_positives), entries_(memory) {
  entries_.reserve(most);
  AskForHugePages(entries_.data(), most * sizeof(Entry));
}

std::shared_ptr<Shard> MemoryShardWriter::Finish() {
  if (entries_.empty()) return nullptr;
  fences_.Finish();
  return std::make_shared<MemoryShard>(this);
}

}  // namespace sampling
