// Record and Query: what a sampler holds, and what a caller asks of it.
// Plain values. They know no sampler.
#pragma once

#include <cstdint>
#include <functional>

namespace sampling {

// A key may have several values; the pair identifies the record.
struct Record {
  uint64_t key = 0;
  uint64_t value = 0;
  double weight = 1;  // from 0 to kMaxWeight; 0: never drawn

  bool operator==(const Record&) const = default;
};

// Sums of up to 2^32 weights stay finite.
inline constexpr double kMaxWeight = 1e290;

// Which records may be drawn: those from `first` to `last`, both included, that satisfy the predicate.
struct Query {
  uint64_t first = 0;
  uint64_t last = UINT64_MAX;
  std::function<bool(const Record&)>
      predicate;  // empty: every record; called from the caller's thread

  bool everything() const { return first == 0 && last == UINT64_MAX; }
  bool Accepts(const Record& record) const {
    return record.key >= first && record.key <= last && (!predicate || predicate(record));
  }
};

}  // namespace sampling
