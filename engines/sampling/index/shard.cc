#include "index/shard.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "structure/seeded_bugs.h"

namespace sampling {

Shard::Shard(std::vector<Entry> entries, const Kind& kind, double filter_false_positives)
    : kind_(kind), entries_(std::move(entries)), structure_(kind.build(entries_)) {
  fences_.reserve((entries_.size() + kFenceEvery - 1) / kFenceEvery);
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if (i % kFenceEvery == 0) fences_.push_back(entry.key);
    mass_ += kind.Counts(entry);
    if (entry.tombstone()) tombstones_.push_back({entry.key, entry.value});
  }
  filter_ = Filter(tombstones_.size(), filter_false_positives);
  for (const Pair& pair : tombstones_) filter_.Add(PairHash(pair.key, pair.value));
}

std::span<Entry> Shard::Near(uint64_t key) {
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
  const std::span<Entry> near =
      std::span(entries_).subspan(begin, std::min(end * kFenceEvery, entries_.size()) - begin);
  // The entries that a bisection reads first.
  for (size_t eighth = 1; eighth < 8; ++eighth) {
    __builtin_prefetch(near.data() + near.size() * eighth / 8);
  }
  return near;
}

Entry* Shard::FindIn(std::span<Entry> near, uint64_t key, uint64_t value) {
  auto at = std::partition_point(near.begin(), near.end(), [&](const Entry& entry) {
    return entry.key < key || (entry.key == key && entry.value < value);
  });
  if (at != near.end() && at->tombstone() && at->key == key && at->value == value) ++at;
  if (at == near.end() || at->key != key || at->value != value) return nullptr;
  return &*at;
}

bool Shard::HasTombstone(uint64_t key, uint64_t value, uint64_t hash) const {
  if (tombstones_.empty() || !filter_.MayContain(hash)) return false;
  if (Seeded(Bug::kFilterDecides)) return true;
  return std::binary_search(tombstones_.begin(), tombstones_.end(), Pair{key, value});
}

void Shard::Tag(Entry* entry, uint64_t time) {
  entry->deleted.store(time, std::memory_order_relaxed);
  tagged_.store(tagged() + 1, std::memory_order_relaxed);
  tagged_mass_.store(tagged_mass() + kind_.Counts(*entry), std::memory_order_relaxed);
}

size_t Shard::bytes() const {
  return entries_.capacity() * sizeof(Entry) + fences_.capacity() * sizeof(uint64_t) +
         tombstones_.capacity() * sizeof(Pair) + filter_.bytes() + structure_->bytes();
}

Status Shard::Verify() const {
  size_t tagged = 0;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if (!entry.tombstone() && entry.deleted_at() != Entry::kNever) ++tagged;
    if (entry.tombstone() &&
        !HasTombstone(entry.key, entry.value, PairHash(entry.key, entry.value))) {
      return Status::Internal("filter: expected every tombstone, got none at position " +
                              std::to_string(i));
    }
    if (i == 0) continue;
    const Entry& before = entries_[i - 1];
    const Pair left{before.key, before.value}, right{entry.key, entry.value};
    if (right < left || (left == right && (!before.tombstone() || entry.tombstone()))) {
      return Status::Internal("order: expected (key, value) to ascend, got otherwise at position " +
                              std::to_string(i));
    }
  }
  if (tagged != this->tagged()) {
    return Status::Internal("tags: expected " + std::to_string(this->tagged()) + ", got " +
                            std::to_string(tagged));
  }
  const double drawn = structure_->Select(0, UINT64_MAX)->mass();
  const double expected = kind_.weighted ? mass_ : static_cast<double>(entries_.size());
  if (std::abs(drawn - expected) > 1e-9 * expected) {
    return Status::Internal("weight: expected " + std::to_string(expected) +
                            ", the structure has " + std::to_string(drawn));
  }
  return Status::Ok();
}

}  // namespace sampling
