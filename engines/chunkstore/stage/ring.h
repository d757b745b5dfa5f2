// Ring and Stage: the staging log, which absorbs all writes before they reach the chunks.
// The ring is three files of fixed size, mapped; a stage is one of them in use: records one after the
// other, an ordered index over them in memory, and a Bloom filter. A stage is active (one writer at a
// time appends), then sealed, then flushed into the chunks by others, then its file is used again.
// Knows no chunks. Durability::kNone keeps the stages in memory without files.
//
// On disk, ring-<0..2>:
//   0     header: magic, format version, sequence, first version, capacity, crc32c   (page 0)
//   512, 1024   checkpoint marks: last durable version, end position, crc32c; written in turn
//   4096  records (stage/record.h), without gaps; the first that fails its checksum, or whose version is
//         not the one after its predecessor's, ends the stage
//
// Threads: Append and Seal hold the store's write lock; Index, Lookup, MayContain, cursors and Sync are
// safe from any thread; a stage's memory is reused only after Release, which the caller delays until
// no operation is inside that could see it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "chunkstore/options.h"
#include "core/entry.h"
#include "kvdyno/base/file_system.h"
#include "memory/arena.h"
#include "memory/skiplist.h"
#include "stage/record.h"

namespace chunkstore {

class Ring;

class Stage {
 public:
  ~Stage();
  uint64_t sequence() const { return sequence_; }
  Version first() const { return first_; }  // of the stage's first record, whether or not there is one
  // The last version appended; first() - 1 when empty.
  Version last() const { return last_.load(std::memory_order_acquire); }
  bool empty() const { return last() < first_; }
  size_t bytes() const { return used_.load(std::memory_order_relaxed); }  // of records
  size_t capacity() const { return capacity_; }
  size_t memory() const;  // mapping, index, filter, spilled payloads, in bytes

  // Larger payloads are spilled: they get a file of their own and stay in memory until Release.
  size_t spill_limit() const { return capacity_ / 4; }
  bool HasRoom(size_t payload_bytes) const;
  // Under the write lock, when HasRoom. *stored is where the payload now lives. Fails only for a
  // spilled payload, whose file could not be written (durably, unless the stage has no files).
  Status Append(Version first, uint32_t count, std::string_view payload, std::string_view* stored);
  // Enters the operations of an appended record into index and filter. Any thread.
  void Index(Version first, std::string_view stored);

  bool MayContain(uint64_t hash) const;  // kvdyno::Hash64 of a key; no false negatives
  bool Lookup(std::string_view key, Version version, Entry* entry) const {
    return index_.Lookup(key, version, entry);
  }
  SkipList::Cursor NewCursor() const { return SkipList::Cursor(&index_); }
  size_t count() const { return index_.count(); }

  // Everything appended before the call survives a power loss after it (Ok for a stage without file).
  // One synchronisation at a time; concurrent callers share it. A failure is final: every later call
  // returns the same error.
  Status Sync();
  Version durable() const { return durable_.load(std::memory_order_acquire); }

 private:
  friend class Ring;
  // implementation members follow in the same spirit; add what is needed
  uint64_t sequence_ = 0;
  Version first_ = 0;
  size_t capacity_ = 0;
  std::atomic<Version> last_{0};
  std::atomic<Version> durable_{0};
  std::atomic<size_t> used_{0};
  Arena arena_;
  SkipList index_;
};

// An epoch that ended without a clean close: of its versions only those up to `last` are valid.
struct EpochEnd {
  uint64_t epoch = 0;
  Version last = 0;
};

struct RingOptions {
  kvdyno::FileSystem* files = nullptr;
  std::string directory;
  size_t stage_size = 0;  // bytes of one file, header included
  bool in_memory = false;  // Durability::kNone
  bool read_only = false;
};

struct RingRecovery {
  std::vector<std::shared_ptr<Stage>> stages;  // unflushed, sealed, oldest first; indexed
  uint64_t records = 0, bytes = 0, dropped_bytes = 0;
  std::string dropped_reason;
  Version last = 0;  // the newest valid version in the ring, 0 if none
};

class Ring {
 public:
  static constexpr int kStages = 3;

  // Maps the files and reads back every stage whose sequence is above `flushed_sequence`. Versions that
  // `epochs` declares invalid are ignored. A stage that ends before its own checkpoint mark, or
  // whose header is unreadable, is Corruption (file and offset), unless `salvage`. In-memory rings
  // still recover stages that an earlier process left in files. Reading happens with FileSystem
  // reads, so that a media error is a Status and no signal.
  static Status Open(const RingOptions& options, uint64_t flushed_sequence,
                     const std::vector<EpochEnd>& epochs, bool salvage, RingRecovery* recovery,
                     std::unique_ptr<Ring>* ring);

  // A fresh active stage; its header is durable before this returns. Busy when all are in use.
  Status Acquire(uint64_t sequence, Version first, std::shared_ptr<Stage>* stage);
  bool HasFree() const;
  // The stage is flushed and no longer looked at: its slot is free, its spill files go.
  void Release(const std::shared_ptr<Stage>& stage);
};

}  // namespace chunkstore
