// Seeded bugs: faults that a test build can switch on, to show that the test suite catches them. Most were
// found in published code. In every other build Seeded() is the constant false and costs nothing.
#pragma once

#include <cstdint>

namespace sampling {

enum class Bug : uint8_t {
  kNone = 0,
  kBufferByMaximum,     // the buffer is proposed by its weight, and accepted by weight / maximum
  kTombstoneRefused,    // tombstones beyond the buffer's share are counted and dropped
  kBoundIgnoresTags,    // the rejection bound counts tombstones alone
  kWeightsShifted,      // behind a tombstone, weights belong to the neighbour
  kIntegerTotal,        // a shard's total weight is an int
  kFilterDecides,       // a filter's "maybe" counts as a deletion
  kKeysTruncated,       // keys have 32 bits
  kRetriesInside,       // a rejection draws from the same shard again
  kTombstoneForgotten,  // a merge drops a tombstone though older shards hold its record
  kReinsertHidden,      // a merge keeps a reinserted record and forgets the tombstone before it
  kLateTagLost,         // a background merge forgets deletes that came meanwhile
};
inline constexpr int kBugs = 12;  // kNone included

#ifdef SAMPLING_SEEDED_BUGS
inline Bug seeded_bug = Bug::kNone;  // set by a test before the index opens
inline bool Seeded(Bug bug) { return seeded_bug == bug; }
#else
constexpr bool Seeded(Bug) { return false; }
#endif

}  // namespace sampling
