#include "index/shard.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>

#include "structure/seeded_bugs.h"

namespace sampling {

void Tombstones::MakeFilter(double false_positives) {
  filter_ = Filter(pairs_.size(), false_positives);
  for (const Pair& pair : pairs_) filter_.Add(Probes(pair.key, pair.value));
}

bool Tombstones::Hold(uint64_t key, uint64_t value) const {
  if (Seeded(Bug::kFilterDecides)) return true;
  return std::binary_search(pairs_.begin(), pairs_.end(), Pair{key, value});
}

Entry Shard::Pick(const Page&, Random*) const {
  assert(false);  // only where file() is not null
  return {};
}

void Shard::Tag(const Found& found, uint64_t time) {
  Mark(found.position, time);
  tagged_.store(tagged() + 1, std::memory_order_relaxed);
  const double counts = kind_.weighted ? found.weight : 1;
  tagged_mass_.store(tagged_mass() + counts, std::memory_order_relaxed);
}

Status Shard::Verify() const {
  size_t tagged = 0, position = 0;
  double counted = 0;
  Record before;
  bool after_tombstone = false;
  const std::unique_ptr<Run> run = Entries(0, UINT64_MAX);
  while (true) {
    std::span<const Entry> block;
    if (Status status = run->Next(&block); !status.ok()) return status;
    if (block.empty()) break;
    for (const Entry& entry : block) {
      const std::string place = " at position " + std::to_string(position);
      if (!entry.tombstone() && entry.deleted_at() != Entry::kNever) ++tagged;
      counted += kind_.weighted ? entry.weight : 1;
      if (entry.tombstone() &&
          !HasTombstone(entry.key, entry.value, Probes(entry.key, entry.value))) {
        return Status::Internal("filter: expected every tombstone, got none" + place);
      }
      const bool ascends =
          entry.key != before.key ? entry.key > before.key : entry.value > before.value;
      const bool follows = entry.key == before.key && entry.value == before.value &&
                           after_tombstone && !entry.tombstone();
      if (position > 0 && !ascends && !follows) {
        return Status::Internal("order: expected (key, value) to ascend, got otherwise" + place);
      }
      before = entry;
      after_tombstone = entry.tombstone();
      ++position;
    }
  }
  if (position != size()) {
    return Status::Internal("entries: expected " + std::to_string(size()) + ", got " +
                            std::to_string(position));
  }
  if (tagged != this->tagged()) {
    return Status::Internal("tags: expected " + std::to_string(this->tagged()) + ", got " +
                            std::to_string(tagged));
  }
  // Places on pages that hold no entry count as well; a draw that finds one is rejected.
  const double drawn = Select(0, UINT64_MAX)->mass() * unit();
  const double most = kind_.weighted ? counted : std::ceil(counted / unit()) * unit();
  if (std::abs(drawn - most) > 1e-9 * most) {
    return Status::Internal("weight: expected " + std::to_string(most) + ", the structure has " +
                            std::to_string(drawn));
  }
  return Status::Ok();
}

}  // namespace sampling
