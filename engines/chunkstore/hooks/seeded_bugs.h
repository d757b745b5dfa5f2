// Seeded bugs: faults that a test build can switch on, to show that the test suite catches them.
// In every other build Seeded() is the constant false and costs nothing.
#pragma once

#include <cstdint>

namespace chunkstore {

enum class Bug : uint8_t {
  kNone = 0,
  kFlushWithoutSync,             // a flush is installed before its segment is durable
  kReorganiseWithoutCheckpoint,  // writes a munk out before the ring that covers it is durable
  kStaleRow,                     // the row cache takes a row that a flush has overtaken
  kScanIgnoresPending,           // a scan does not wait for pending writes
  kDropsSnapshotVersion,         // garbage collection forgets live snapshots
  kLostInSplit,                  // the first key of the right half goes missing
  kMunkMissesSuccessor,          // writers do not insert into a munk's successor
  kIgnoresChecksum,              // blocks are read without comparing checksums
  kReusesStageEarly,             // a stage is reused while readers are inside
  kAcceptsTornRecord,            // recovery takes a record whose checksum is wrong
  kBatchNotAtomic,               // a batch is appended as single records
  kSyncAcknowledgesEarly,        // Durability::kSync returns before the sync
  kDeletionForgotten,  // a reorganisation drops a deletion though older versions stay below
  kForgetsLateWrites,  // a new munk drops a deletion though an older write is on its way to it
  kGetSeesHalfABatch,  // a get does not ask whether a batch began while it looked
};
inline constexpr int kBugs = 16;  // kNone included

#ifdef CHUNKSTORE_SEEDED_BUGS
inline Bug seeded_bug = Bug::kNone;  // set by a test before the store opens
inline bool Seeded(Bug bug) { return seeded_bug == bug; }
#else
constexpr bool Seeded(Bug) { return false; }
#endif

}  // namespace chunkstore
