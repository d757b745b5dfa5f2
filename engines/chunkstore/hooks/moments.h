// Moments: points in the store at which a test build can hold a thread, so that a rare order of
// events is certain. In every other build Reached() does nothing and costs nothing.
#pragma once

#include <cstdint>
#include <functional>

namespace chunkstore {

enum class Moment : uint8_t {
  kWriteShown,         // the clock includes the write, and no index has it yet
  kOperationEntered,   // one operation of a write is in its stage's index
  kMunkShown,          // a munk takes writes, and is not filled yet
  kGetBegun,           // a get has found no batch on its way
  kGetLooked,          // it has its answer, and has not asked again for batches
  kBetweenPins,        // a scan goes to the next chunk, or a multi-get to the next keys
  kRoundBegun,         // a background round looks at nothing yet
  kMergingForScans,    // a background round merges logs because scans read them
  kMaintenanceCalled,  // a flush, compaction or payment of debts begins
  kMaintenanceDone,    // it has done its work, and goes on counting as a call
};

#ifdef CHUNKSTORE_SEEDED_BUGS
inline std::function<void(Moment)> at_moment;  // set by a test while no thread is in a store
inline void Reached(Moment moment) {
  if (at_moment) at_moment(moment);
}
#else
constexpr void Reached(Moment) {}
#endif

}  // namespace chunkstore
