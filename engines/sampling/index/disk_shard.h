// DiskShard: a shard whose entries lie in pages of a file. In memory are, of each page, its first pair and what its
// entries count together, the kind's structure over these, tombstones and tags. A draw takes a page by the structure
// and an entry within the page: one read, or none when the cache has the page.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "external/scratch.h"
#include "index/shard.h"
#include "kvdyno/base/mutex.h"

namespace sampling {

// What makes one: its entries, in order, are written page by page. One thread.
class DiskShardWriter {
 public:
  static constexpr size_t kPagesAtOnce = 16;  // that a writer, or a run that is read, holds
  static constexpr size_t kBytes = kPagesAtOnce * (sizeof(Page) + Page::kEntries * sizeof(Entry));

  // For at most that many entries.
  DiskShardWriter(std::shared_ptr<Scratch> scratch, const Kind& kind, double filter_false_positives,
                  size_t most)
      : scratch_(std::move(scratch)), kind_(kind), false_positives_(filter_false_positives) {
    summaries_.reserve((most + Page::kEntries - 1) / Page::kEntries);
    pages_.reserve(kPagesAtOnce);
  }
  // Removes the file that Finish did not hand over.
  ~DiskShardWriter();

  Status Add(const Entry& entry);
  // Writes what is left, and makes sure that the disk took it all: null without entries.
  Status Finish(std::shared_ptr<Shard>* shard);

 private:
  friend class DiskShard;
  Status Write(const void* data, size_t bytes);
  Status WritePages();

  const std::shared_ptr<Scratch> scratch_;
  const Kind& kind_;
  const double false_positives_;
  std::string path_;  // empty: no file yet, or none any more
  uint32_t number_ = 0;
  std::unique_ptr<kvdyno::WritableFile> file_;
  std::vector<Page> pages_;  // not written yet
  uint64_t entries_ = 0;
  double mass_ = 0;
  std::vector<Entry>
      summaries_;  // of all pages: the first pair, and as weight what the page counts
  Tombstones tombstones_;
};

}  // namespace sampling
