// Positions of a key range in sorted entries. Pure function.
#pragma once

#include <algorithm>
#include <span>
#include <utility>

#include "sampling/structure.h"

namespace sampling {

// Begin and end of the entries whose keys lie from `first` to `last`, both included.
inline std::pair<size_t, size_t> PositionsOf(std::span<const Entry> entries, uint64_t first,
                                             uint64_t last) {
  const auto begin = std::partition_point(entries.begin(), entries.end(),
                                          [&](const Entry& entry) { return entry.key < first; });
  const auto end = std::partition_point(begin, entries.end(),
                                        [&](const Entry& entry) { return entry.key <= last; });
  return {static_cast<size_t>(begin - entries.begin()), static_cast<size_t>(end - entries.begin())};
}

}  // namespace sampling
