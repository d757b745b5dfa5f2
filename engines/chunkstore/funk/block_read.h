// Reading blocks of runs by their places: one for a point read, or several with reads that are on
// their way at once. Checks what came from disk, and caches it. Free functions; safe from any
// thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "concurrency/worker.h"
#include "funk/format.h"
#include "funk/read_ahead.h"
#include "funk/segments.h"
#include "memory/block_cache.h"

namespace chunkstore {

// Blocks of a run that a cursor will need, to be on their way together with other reads. One thread;
// must outlive the cursors that use it.
struct Prefetch {
  ExtentRef extent;
  uint64_t offset_in_run = 0;
  size_t length = 0;  // 0: nothing to read, or read already
  std::string bytes;  // once they are read
};

// What a read may use and must do.
struct ReadContext {
  Segments* segments = nullptr;
  BlockCache* blocks = nullptr;  // null: no cache
  bool fill_cache = true;
  bool verify_checksums = true;
  const ReadAhead* ahead = nullptr;  // null: nothing was read ahead for cursors
  Worker* reader = nullptr;          // reads ahead for a cursor over all of a run; null: none
  Prefetch* prefetch = nullptr;      // joins the next reads that go together; null: none
  // Grows, roughly, by the reads of the disk that a log's cursor needs; null: not counted.
  std::atomic<uint32_t>* log_reads = nullptr;

  void CountLogReads(size_t reads) const {
    if (log_reads == nullptr) return;
    log_reads->store(log_reads->load(std::memory_order_relaxed) + static_cast<uint32_t>(reads),
                     std::memory_order_relaxed);
  }
};

// What a lookup found: nothing (found is false), a value (copied to the caller's string) or a
// deletion.
struct LookupResult {
  bool found = false;
  EntryType type = EntryType::kValue;
  Version version = 0;
  bool from_cache = true;  // no byte came from disk
  bool filtered = false;   // not found, as a table's filter showed without a look at its blocks
};

// A block at hand: pinned in the cache, or a copy where there is none.
struct WantedBlock {
  ExtentRef extent;  // the run's
  BlockPlace place;  // in the run
  BlockCache::Handle handle;
  std::string copy;
  BlockView view;  // of one of the two
};

// The newest version at or below `version` within this block, which `index` (null: none) lists as its
// `ordinal`th. *at_end: entries behind the block's last may be those searched for.
Status SearchBlock(const ReadContext& context, const ExtentRef& extent, BlockPlace block,
                   const SortedRunIndex* index, size_t ordinal, std::string_view key,
                   Version version, std::string* value, LookupResult* result, bool* at_end);
// The entry with just this version, within the block that a log's index names. The run's index is
// not needed: a block that was misplaced fails its checksum or, of format 1, does not hold the entry,
// which is Corruption.
Status LookupInBlock(const ReadContext& context, const ExtentRef& extent, BlockPlace block,
                     std::string_view key, Version version, std::string* value,
                     LookupResult* result);
// Brings blocks of runs, those that are not cached with reads that are on their way at once.
Status HoldTogether(const ReadContext& context, std::vector<WantedBlock>* blocks);
// For a log's index that names a block in vain.
Status MissingKey(const ReadContext& context, const ExtentRef& extent, BlockPlace block);
// Checks a block's bytes as they came from disk, and that they are this block's: the checksum of
// another in its place fails, but of one of format 1.
Status ParseBlock(const ReadContext& context, const ExtentRef& extent, const SortedRunIndex& index,
                  size_t block, std::string_view bytes, BlockView* view);
// The status with file and offset in its message.
Status Problem(const Segments& segments, const ExtentRef& extent, const char* operation,
               uint64_t offset_in_run, const Status& status);

}  // namespace chunkstore
