// Log: a chunk's newest entries on disk, as runs in the order in which flushes wrote them. There are
// many, of a few entries each: a log holds their extents, and where its index names blocks nothing
// else. Immutable: a flush makes the next Log from the last one and its run. Finds keys by the ordered
// index or by Bloom parts, as options say; both are made from the runs when first needed after
// recovery. Safe from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chunkstore/options.h"
#include "entry/entry.h"
#include "funk/log_cursor.h"
#include "funk/sorted_run.h"
#include "funk/warmth.h"
#include "kvdyno/base/mutex.h"

namespace chunkstore {

struct LogPolicy {
  LogLookup lookup = LogLookup::kIndex;
  int bloom_split = 16;
  double bloom_bits = 10;
  uint64_t piece_bytes = 0;  // log limit / bloom_split: bytes of one Bloom part's piece
};

// Where the index of a recovered log was saved, if it was.
struct SavedIndex {
  std::shared_ptr<const Warmth> file;  // null: nowhere
  const ChunkWarmth* chunk = nullptr;  // of the file; its runs are the log's first ones
};

class Log {
 public:
  // From recovered runs, oldest first; no index yet. Policy and segments must outlive the log.
  Log(const LogPolicy* policy, Segments* segments, std::vector<ExtentRef> runs,
      SavedIndex saved = {});
  ~Log();
  // This log with one run more, whose versions of a key are newer than any here; takes over the
  // index by merging. `run` has its keys. Readers of this log are not disturbed.
  std::unique_ptr<Log> With(const SortedRunSummary& run) const;
  // The manifest does not refer to these runs any more. Their space goes back when nothing holds
  // this log, nor one that it was made from.
  void MarkObsolete() const;
  // Keeps the runs on disk as long as it is held, as the log does, without the log's index.
  std::shared_ptr<const void> HoldRuns() const;

  bool empty() const { return runs_.empty(); }
  // False for a recovered log without an index: the first read will read all of its runs, or the
  // index that was saved.
  bool warm() const { return runs_.empty() || directory_.load() != nullptr; }
  // Makes it warm. `context.ahead` may hold the runs.
  Status Warm(const ReadContext& context) const;
  bool saved() const { return saved_.file != nullptr; }
  // The index of the first *runs runs, for a later recovery; empty if there is none at hand.
  Status Save(std::string* index, uint64_t* runs) const;
  // Whether every key is known to be below this one.
  bool EndsBefore(std::string_view key) const;
  uint64_t bytes() const { return bytes_; }  // of all runs on disk
  uint64_t entries() const { return entries_; }
  size_t memory() const;  // of index or filters, if made; shared parts counted whole
  const std::vector<ExtentRef>& runs() const { return runs_; }

  // The newest version at or below `version`. *searched_bytes grows by the log bytes that were
  // looked through (kIndex: one block; kBloom: whole pieces). `hash` is kvdyno::Hash64 of the key.
  Status Lookup(const ReadContext& context, std::string_view key, uint64_t hash, Version version,
                std::string* value, LookupResult* result, uint64_t* searched_bytes) const;
  // The block that such a lookup will read. False: not in the log, or not known without reading it.
  bool Locate(std::string_view key, Version version, WantedBlock* block) const;
  // What a read may see, in order, by the index (funk/log_cursor.h). With Bloom parts, or where
  // `span`, the bytes that the read expects to need, is not smaller than a log of some length, all
  // entries are given: the runs are merged, each of them read ahead. The log must outlive the
  // cursor.
  std::unique_ptr<EntryCursor> NewCursor(const ReadContext& context, const LogRead& read,
                                         size_t span) const;
  // Cursors over all entries of each run, newest run first; each reads `span` bytes ahead at most.
  void AddRunCursors(const ReadContext& context, size_t span,
                     std::vector<std::unique_ptr<EntryCursor>>* cursors) const;

 private:
  struct Directory;  // what finds keys: index or filters
  class Space;       // of the runs on disk
  Log(const LogPolicy* policy, std::shared_ptr<Space> space, std::vector<ExtentRef> runs,
      SavedIndex saved);
  Status Find(const ReadContext& context, const Directory** directory) const;
  uint32_t FetchFrom(uint32_t run, const Segments& segments, ReadAhead* ahead) const;
  static Status ReadKeys(const ReadContext& context, const SortedRun& run,
                         std::vector<SortedRunKey>* keys);
  void AddRun(uint32_t run, std::shared_ptr<const SortedRunIndex> index,
              const std::vector<SortedRunKey>& keys, Directory* directory) const;
  static void AddToIndex(uint32_t first_run, const std::vector<SortedRunKey>& keys,
                         Directory* directory);
  uint32_t LoadSaved(Directory* directory) const;
  void AddToPieces(uint32_t run, const std::vector<SortedRunKey>& keys, Directory* directory) const;

  const LogPolicy* policy_;
  const std::shared_ptr<Space> space_;  // shared with the logs before and after
  const std::vector<ExtentRef> runs_;
  const SavedIndex saved_;
  uint64_t bytes_ = 0;
  uint64_t entries_ = 0;
  // Set once, under the mutex; owned.
  mutable kvdyno::Mutex load_;
  mutable std::atomic<const Directory*> directory_{nullptr};
};

// Merges cursors: entries in order, and of entries with the same key and version only the first
// cursor's. Owns them.
std::unique_ptr<EntryCursor> NewMergingCursor(std::vector<std::unique_ptr<EntryCursor>> cursors);

}  // namespace chunkstore
