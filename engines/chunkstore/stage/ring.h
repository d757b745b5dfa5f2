// Ring and Stage: the staging log, which absorbs all writes before they reach the chunks.
// The ring is three files of fixed size, mapped; a stage is one of them in use: records one after
// the other, an ordered index over them in memory, and a Bloom filter. A stage is active (one
// writer at a time appends), then sealed, then flushed into the chunks by others, then its file is
// used again. Knows no chunks. Durability::kNone keeps the stages in memory without files.
//
// On disk: ring-<0..2>, laid out as in stage/layout.h, and a file spill-<first version> for each
// record that is too large for a stage.
//
// Threads: Append and Seal hold the store's write lock; Index, Lookup, MayContain, cursors and Sync
// are safe from any thread; a stage's memory is reused only after Release, which the caller delays
// until no operation is inside that could see it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "entry/entry.h"
#include "kvdyno/base/file_system.h"
#include "kvdyno/base/mutex.h"
#include "memory/arena.h"
#include "stage/filter.h"
#include "stage/index.h"
#include "stage/layout.h"
#include "stage/record.h"
#include "stage/scan.h"

namespace chunkstore {

class Ring;

class Stage {
 public:
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  uint64_t sequence() const { return sequence_; }
  Version first() const {
    return first_;
  }  // of the stage's first record, whether or not there is one
  // The last version appended; first() - 1 when empty.
  Version last() const { return last_.load(std::memory_order_acquire); }
  bool empty() const { return last() < first_; }
  size_t bytes() const { return used_.load(std::memory_order_relaxed); }  // of records
  size_t capacity() const { return capacity_; }
  size_t memory() const;          // mapping, index, filter, spilled payloads, in bytes
  size_t touched_memory() const;  // the same without what no record has reached of the mapping
  // Bytes behind the last record whose pages are read ahead: a writer that stores to a page that is
  // not in memory waits for the disk, under the write lock.
  static constexpr size_t kAhead = size_t{512} << 10;
  // Under the write lock: what no record comes to soon may leave memory.
  void ForgetUnused();

  // Larger payloads are spilled: they get a file of their own and stay in memory until Release.
  size_t spill_limit() const { return capacity_ / 4; }
  bool HasRoom(size_t payload_bytes) const;
  // Under the write lock, when HasRoom. *stored is where the payload now lives. Fails where the
  // file has no block for it, or a spilled payload's file could not be written (durably, unless the
  // stage has no files); then the stage is as before.
  Status Append(Version first, uint32_t count, std::string_view payload, std::string_view* stored);
  // Enters the operations of an appended record into index and filter. Any thread.
  void Index(Version first, std::string_view stored);

  bool MayContain(uint64_t hash) const {
    return filter_.MayContain(hash);
  }  // kvdyno::Hash64 of a key; no false negatives
  bool Lookup(std::string_view key, Version version, Entry* entry) const {
    return index_.Lookup(key, version, entry);
  }
  StageIndex::Cursor NewCursor() const { return StageIndex::Cursor(&index_); }
  size_t count() const { return index_.count(); }

  // Everything appended before the call survives a power loss after it (Ok for a stage without
  // file). One synchronisation at a time; concurrent callers share it. A failure is final: every
  // later call returns the same error.
  Status Sync();
  Version durable() const { return durable_.load(std::memory_order_acquire); }

 private:
  friend class Ring;
  // Where a stage lives. Not owned: the ring's.
  struct Place {
    size_t slot = 0;
    char* data = nullptr;  // the whole file, or as many bytes of memory
    size_t size = 0;
    kvdyno::MappedFile* file = nullptr;   // null: nothing is made durable
    kvdyno::FileSystem* files = nullptr;  // null: payloads are spilled to memory only
    std::string directory;
  };

  Stage(uint64_t sequence, Version first, Place place, std::vector<std::string> separators);
  Status AppendSpilled(Version first, uint32_t count, std::string_view payload,
                       std::string_view* stored);
  std::string_view KeepSpilled(uint64_t number, std::string_view payload);
  // Takes the record at the end over from an earlier process; its operations are `payload`.
  void Adopt(const Record& record, std::string_view payload);
  Status Populate(size_t record_bytes);
  void Advance(Version last, size_t bytes);
  void Retire();  // the place is another's from now on

  const uint64_t sequence_;
  const Version first_;
  const Place place_;
  const size_t capacity_;
  std::atomic<Version> last_;
  std::atomic<Version> durable_;
  std::atomic<size_t> used_{0};
  // In the file: stores below this find their blocks. Raised by the one that appends; a sync lowers
  // it to the page that it leaves half full, which may need another block when it is stored to.
  std::atomic<size_t> populated_{0};
  // In the file: pages below this are in memory or on their way. Under the write lock.
  size_t expected_ = kRecordsAt + kAhead;
  Arena arena_;
  StageIndex index_;
  Filter filter_;
  std::vector<std::pair<uint64_t, std::unique_ptr<char[]>>> spilled_;  // by the one that appends
  std::atomic<size_t> spilled_bytes_{0};

  kvdyno::Mutex sync_mutex_;
  Status sync_error_ KVDYNO_GUARDED_BY(sync_mutex_);
  size_t synced_ KVDYNO_GUARDED_BY(sync_mutex_) = 0;     // bytes of records
  size_t next_mark_ KVDYNO_GUARDED_BY(sync_mutex_) = 0;  // which place is written next
  bool retired_ KVDYNO_GUARDED_BY(sync_mutex_) = false;
};

struct RingOptions {
  kvdyno::FileSystem* files = nullptr;
  std::string directory;
  size_t stage_size = 0;   // bytes of one file, header included
  bool in_memory = false;  // Durability::kNone
  bool read_only = false;
};

struct RingRecovery {
  std::vector<std::shared_ptr<Stage>> stages;  // unflushed, sealed, oldest first; indexed
  uint64_t records = 0, bytes = 0, dropped_bytes = 0;
  std::string dropped_reason;
  Version last = 0;       // the newest valid version in the ring, 0 if none
  uint64_t sequence = 0;  // the highest in any file, 0 if none: new stages go above it
  // Numbers go on from what is flushed to the oldest stage, and the stage `begun`, or a newer one,
  // was found (0: none was begun). Corruption when one is missing.
  Status Follows(Version flushed, uint64_t begun, const std::string& directory) const;
};

class Ring {
 public:
  static constexpr int kStages = 3;

  // Opens the files that there are, and reads back every stage whose sequence is above
  // `flushed_sequence`. Versions that `epochs` declares invalid are ignored. What comes back is a
  // prefix of all writes: after the first gap nothing is taken. A stage that ends before its own
  // checkpoint mark, or whose header or spilled payload is unreadable, is Corruption (file and
  // offset), unless `salvage`, which drops what cannot be read. In-memory rings still recover
  // stages that an earlier process left in files. Reading happens with FileSystem reads, so that a
  // media error is a Status and no signal.
  static Status Open(const RingOptions& options, uint64_t flushed_sequence,
                     const std::vector<EpochEnd>& epochs, bool salvage, RingRecovery* recovery,
                     std::unique_ptr<Ring>* ring);

  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Maps, or holds memory for, what no stage uses, so that Acquire finds it at hand. A file of
  // another size is replaced, with whatever a stage without records left in it.
  Status PrepareFree();
  // A fresh active stage; its header is durable before this returns. Busy when all are in use.
  // `sequence` is above all before it; `first` is the version after the predecessor's last one (of
  // the same epoch), since that is how recovery knows that nothing is missing between.
  // `separators`: ascending keys that cut the stage's index into ranges of similar size; the more,
  // the cheaper an insertion, but each takes some hundred bytes.
  Status Acquire(uint64_t sequence, Version first, std::shared_ptr<Stage>* stage,
                 std::vector<std::string> separators = {});
  bool HasFree() const;
  // The newest stage that Acquire began in a file; 0: none.
  uint64_t newest_sequence() const { return newest_sequence_.load(std::memory_order_acquire); }
  // The stage is flushed and no longer looked at: its slot is free, its spill files go.
  void Release(const std::shared_ptr<Stage>& stage);
  // Bytes of all files mapped or held, in use or free, and of the stages that are not released.
  size_t memory() const;
  // The same of stages that are not released, as far as they were written to: other pages of the
  // files are at most cached.
  size_t memory_in_use() const;
  // Under the write lock: what no record comes to soon may leave memory, until it is used again.
  void ForgetUnused();
  // Under the write lock: bytes of the files that are in memory, mapped or cached.
  size_t resident() const;

 private:
  // A file of the ring and what holds its bytes here; all null when it was not needed yet.
  struct Slot {
    std::string path;
    bool busy = false;  // guarded by mutex_, like `stage`
    std::weak_ptr<Stage> stage;
    // Touched only by the thread that made the slot busy.
    std::unique_ptr<kvdyno::MappedFile> file;
    std::unique_ptr<char[]> held;  // instead of a file
    std::atomic<size_t> size{0};
    char* data() { return file != nullptr ? file->data() : held.get(); }
    void Drop();
  };
  class Recovery;

  explicit Ring(const RingOptions& options);
  Status Prepare(Slot* slot);  // mapped, or memory held, of the right size
  Stage::Place PlaceOf(size_t slot);
  Slot* TakeFree();

  const RingOptions options_;
  std::array<Slot, kStages> slots_;
  std::atomic<uint64_t> newest_sequence_{0};
  mutable kvdyno::Mutex mutex_;
};

}  // namespace chunkstore
