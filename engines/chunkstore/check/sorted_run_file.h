// SortedRunFile: a run read straight from its segment, block by block, past every cache of the
// store. For checking and repairing: each error has a place, and one bad block does not hide the
// next. Knows neither manifest nor chunks. One thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "entry/entry.h"
#include "funk/format.h"
#include "kvdyno/base/file_system.h"

namespace chunkstore {

// Opened segments, a bounded number of them.
class SegmentFiles {
 public:
  SegmentFiles(kvdyno::FileSystem* files, std::string directory)
      : files_(files), directory_(std::move(directory)) {}
  std::string PathOf(uint64_t segment) const { return directory_ + "/" + SegmentName(segment); }
  Status Size(uint64_t segment, uint64_t* size);
  // Exactly that many bytes; Corruption when the file ends early.
  Status Read(uint64_t segment, uint64_t offset, uint64_t length, std::string* bytes);

 private:
  Status Open(uint64_t segment, const kvdyno::RandomAccessFile** file);

  static constexpr size_t kMaxOpen = 64;
  kvdyno::FileSystem* files_;
  std::string directory_;
  std::map<uint64_t, std::unique_ptr<kvdyno::RandomAccessFile>> open_;
};

class SortedRunFile {
 public:
  // Reads footer and index. `segments` must outlive the run.
  static Status Open(SegmentFiles* segments, const ExtentRef& extent,
                     std::unique_ptr<SortedRunFile>* run);
  // Without footer and index: the blocks from the run's beginning to the first that cannot be read.
  // Nothing behind that one is looked for, since the bytes of a value may look like blocks.
  // Corruption when not even the first can be read.
  static Status OpenByBlocks(SegmentFiles* segments, const ExtentRef& extent,
                             std::unique_ptr<SortedRunFile>* run);

  const ExtentRef& extent() const { return extent_; }
  const SortedRunIndex& index() const { return index_; }
  uint64_t OffsetOf(size_t block) const { return extent_.offset + index_.blocks[block].offset; }
  // Checksum and structure are checked, and that the block holds what the index lists. The view
  // lives as long as *bytes stays as it is.
  Status ReadBlock(size_t block, std::string* bytes, BlockView* view) const;

 private:
  SortedRunFile(SegmentFiles* segments, const ExtentRef& extent)
      : segments_(segments), extent_(extent) {}
  Status ReadIndex();
  void AddBlock(std::string_view bytes, std::string* last_key);

  SegmentFiles* segments_;
  ExtentRef extent_;
  SortedRunIndex index_;
};

// "/store/segment-000001.seg at offset 4096: expected …": a status as one line of a report.
std::string Line(const Status& status);

}  // namespace chunkstore
