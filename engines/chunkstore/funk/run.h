// Run: sorted entries in a segment, immutable. A chunk's table is one run, its log a list of them.
// RunBuilder writes one, Run reads it through the block cache. Builders belong to one thread; runs are
// safe from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/entry.h"
#include "funk/format.h"
#include "funk/segments.h"

namespace chunkstore {

class BlockCache;

// What a read may use and must do.
struct ReadContext {
  Segments* segments = nullptr;
  BlockCache* blocks = nullptr;  // null: no cache
  bool fill_cache = true;
  bool verify_checksums = true;
};

// A key of a run and the block it is in, for the log's index.
struct RunKey {
  std::string key;
  Version version = 0;
  uint32_t block = 0;
};

struct RunSummary {
  ExtentRef extent;
  std::shared_ptr<const RunIndex> index;
  std::vector<RunKey> keys;  // only if the builder was told to keep them
};

class RunBuilder {
 public:
  RunBuilder(SegmentWriter* segment, size_t block_size, bool keep_keys);
  ~RunBuilder();
  // In entry order; ordering is asserted.
  Status Add(const Entry& entry);
  uint64_t bytes() const;    // of the run so far
  uint64_t entries() const;
  // At least one entry was added.
  Status Finish(RunSummary* summary);
};

// What a lookup found: nothing (found is false), a value (copied to the caller's string) or a deletion.
struct LookupResult {
  bool found = false;
  EntryType type = EntryType::kValue;
  Version version = 0;
  bool from_cache = true;  // no byte came from disk
};

class Run {
 public:
  // `index` may be null: it is read from disk when first needed.
  Run(Segments* segments, const ExtentRef& extent, std::shared_ptr<const RunIndex> index);
  // Gives the space back if the run was marked obsolete.
  ~Run();
  const ExtentRef& extent() const { return extent_; }
  // The manifest does not refer to it any more.
  void MarkObsolete() { obsolete_.store(true); }

  Status Index(std::shared_ptr<const RunIndex>* index) const;
  // Bytes of its fence index in memory; 0 when not loaded.
  size_t memory() const;

  // The newest version of the key at or below `version`.
  Status Lookup(const ReadContext& context, std::string_view key, Version version,
                std::string* value, LookupResult* result) const;
  // The same within one known block.
  Status LookupInBlock(const ReadContext& context, uint32_t block, std::string_view key,
                       Version version, std::string* value, LookupResult* result) const;
  // `span`: bytes that the caller expects to read from the first Seek on; read with as few calls
  // as possible when not cached. Grows by itself as the cursor goes on, up to 1 MiB a call.
  std::unique_ptr<EntryCursor> NewCursor(const ReadContext& context, size_t span) const;
  // Reads and checks every block; problems are appended, with file and offset.
  void Check(std::vector<std::string>* problems, uint64_t* blocks, uint64_t* entries) const;

 private:
  Segments* segments_;
  ExtentRef extent_;
  std::atomic<bool> obsolete_{false};
};

}  // namespace chunkstore
