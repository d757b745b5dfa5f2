// SortedRun: sorted entries in a segment, immutable; run for short, here and in other names. A
// chunk's table is one run; its log is a list of extents, which are read as runs where their blocks
// are not known. SortedRunBuilder writes one, SortedRun reads it through the block cache. Builders
// belong to one thread; runs are safe from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "entry/entry.h"
#include "funk/block_read.h"
#include "funk/format.h"
#include "funk/read_ahead.h"
#include "funk/segments.h"
#include "kvdyno/base/mutex.h"

namespace chunkstore {

// A key of a run and the block it is in, for the log's index.
struct SortedRunKey {
  std::string key;
  Version version = 0;
  BlockPlace block;
  uint32_t run = 0;  // of several runs' keys: which
};

struct SortedRunSummary {
  ExtentRef extent;
  std::shared_ptr<const SortedRunIndex> index;
  std::vector<SortedRunKey> keys;  // only if the builder keeps them
};

struct SortedRunForm {
  size_t block_size = 4096;  // bytes
  double filter_bits = 0;    // per key, of a table's filter; 0: none
  bool keep_keys = false;    // for the summary
  // Gets a block as it is written if most of its entries are added as `cached`; null: none does.
  BlockCache* cache = nullptr;
};

class SortedRunBuilder {
 public:
  // The run begins at the segment's offset; one builder at a time per segment.
  SortedRunBuilder(SegmentWriter* segment, const SortedRunForm& form);
  // In entry order; ordering is asserted.
  Status Add(const Entry& entry, bool cached = false);
  uint64_t bytes() const;  // of the run so far, without what comes behind the blocks
  uint64_t entries() const { return entries_; }
  // At least one entry was added. The last call.
  Status Finish(SortedRunSummary* summary);

 private:
  void BeginBlock(std::string_view first_key);
  Status EndBlock();
  Status AddAlone(const Entry& entry, std::string_view head);
  Status AppendTrailer(std::string_view offsets, uint32_t count, uint32_t checksum);

  SegmentWriter* segment_;
  const SortedRunForm form_;
  const uint64_t begin_;      // of the run, in the segment
  uint64_t block_begin_ = 0;  // of the current block, in the run
  std::string block_;         // its entries
  std::string offsets_;       // of its entries, as they will be stored
  uint32_t cached_ = 0;       // of its entries
  std::string last_key_;
  Version last_version_ = 0;
  uint64_t entries_ = 0;
  SortedRunIndex index_;
  std::vector<uint64_t> hashes_;  // of keys, for the filter
  std::vector<SortedRunKey> keys_;
  size_t placed_keys_ = 0;  // of keys_: those whose block has ended
};

class SortedRun {
 public:
  // `index` may be null: it is read from disk when first needed, and kept from then on.
  SortedRun(Segments* segments, const ExtentRef& extent,
            std::shared_ptr<const SortedRunIndex> index);
  // Gives the space back if the run was marked obsolete.
  ~SortedRun();
  SortedRun(const SortedRun&) = delete;
  SortedRun& operator=(const SortedRun&) = delete;
  const ExtentRef& extent() const { return extent_; }
  Segments* segments() const { return segments_; }
  // The manifest does not refer to it any more.
  void MarkObsolete() const { obsolete_.store(true); }

  // `ahead` (null: none) may hold the run, which then need not be read for its index.
  Status Index(const ReadAhead* ahead, std::shared_ptr<const SortedRunIndex>* index) const;
  // Valid as long as the run, and nothing but a load once it is there.
  Status Index(const SortedRunIndex** index) const;
  // Bytes of its index and filter in memory; 0 when not loaded.
  size_t memory() const;
  size_t filter_memory() const;  // of these: the filter's

  // The newest version of the key at or below `version`. `hash` is kvdyno::Hash64 of the key.
  Status Lookup(const ReadContext& context, std::string_view key, uint64_t hash, Version version,
                std::string* value, LookupResult* result) const;
  // The block that such a lookup will read first. False: there is none, or no index.
  bool Locate(std::string_view key, uint64_t hash, WantedBlock* block) const;
  // `span`: bytes that the caller expects to read from the first Seek on; read with as few calls
  // as possible when not cached. Grows by itself as the cursor goes on, up to 1 MiB a call. The run
  // must outlive the cursor.
  std::unique_ptr<EntryCursor> NewCursor(const ReadContext& context, size_t span) const;
  // What such a cursor will read first if it begins at `position`: nothing where the block is
  // cached, or the span is so long that reading it is worth a call of its own.
  Prefetch Wanted(const ReadContext& context, std::string_view position, size_t span) const;
  // Reads and checks index and every block from disk; problems are appended, with file and offset,
  // and the counts of what was found added.
  void Check(std::vector<std::string>* problems, uint64_t* blocks, uint64_t* entries) const;

 private:
  Status ReadIndex(const ReadAhead* ahead, SortedRunIndex* index) const;
  // At least `length` of the run's last bytes: what was read ahead, or read into the buffer.
  Status ReadEnd(const ReadAhead* ahead, uint64_t length, kvdyno::AlignedBuffer* buffer,
                 std::string_view* end) const;
  Status Problem(const char* operation, uint64_t offset_in_run, const Status& status) const;

  Segments* segments_;
  const ExtentRef extent_;
  mutable std::atomic<bool> obsolete_{false};
  // Set once, under the mutex; readers look at index_ only, owner_ follows it.
  mutable kvdyno::Mutex load_;
  mutable std::shared_ptr<const SortedRunIndex> owner_;
  mutable std::atomic<const SortedRunIndex*> index_{nullptr};
};

// What a run takes beside its index: itself, who points to it, and what the heap adds to its parts,
// which with small runs is as much as they hold.
constexpr size_t kSortedRunBytes = sizeof(SortedRun) + 144;

}  // namespace chunkstore
