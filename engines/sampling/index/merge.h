// Merging sorted runs of entries: what survives of records, tags and tombstones.
// Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "index/buffer.h"
#include "sampling/structure.h"

namespace sampling {

// The buffer's first `count` entries, sorted by (key, value), those of one pair in order of arrival.
std::vector<Entry> SortedRun(const Buffer& buffer, size_t count);

// Merges runs, the oldest first. Records that were tagged by `time` are dropped. A tombstone and the older record
// that it deletes both go. Other tombstones stay, unless the runs hold the index's oldest entries:
// then nothing is left for them to delete.
//
// A pair that was deleted and inserted again may leave a tombstone and, behind it, a record: the tombstone still
// deletes the first record, in an older run elsewhere.
std::vector<Entry> Merge(const std::vector<std::span<const Entry>>& runs, uint64_t time,
                         bool oldest);

}  // namespace sampling
