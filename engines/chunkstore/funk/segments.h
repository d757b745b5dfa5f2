// Segments: the files that hold runs, written once and then only read or given back.
// Owns numbers, open files and the space in them. Knows nothing of chunks or keys. Safe from any
// thread, but for SegmentWriter (one thread).
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/entry.h"
#include "funk/format.h"
#include "kvdyno/base/file_system.h"

namespace chunkstore {

// Writes a new segment through an aligned buffer.
class SegmentWriter {
 public:
  ~SegmentWriter();
  uint64_t number() const { return number_; }
  uint64_t offset() const { return offset_; }  // bytes appended so far
  Status Append(std::string_view bytes);
  // Pads to a whole page and, if told so, makes file and directory entry durable.
  Status Finish(bool sync);

 private:
  friend class Segments;
  uint64_t number_ = 0;
  uint64_t offset_ = 0;
};

class Segments {
 public:
  Segments(kvdyno::FileSystem* files, std::string directory, bool direct, size_t max_open_files);

  // Open: what the manifest says is in use; files that nothing refers to are removed (unless
  // read_only). Numbers go on after the largest one seen.
  Status Recover(const std::vector<ExtentRef>& live, bool read_only);

  // A writer for the next number; an unfinished segment is removed with its writer.
  Status Create(std::unique_ptr<SegmentWriter>* writer);
  // A finished segment's runs are in use from now on.
  void AddLive(const ExtentRef& extent);
  // The run is not referred to by the manifest and not read any more: its space goes back, with
  // the file when it was the last one, else as a hole where the file system can.
  void Free(const ExtentRef& extent);
  // Gives back what a crash left between the live runs of each file. Slow; for background work.
  void PunchGaps();

  // Reads bytes of a run, aligned or not as the caller likes: with direct input the surrounding pages
  // are read into a scratch buffer of the thread. Corruption when the file ends early.
  Status Read(const ExtentRef& extent, uint64_t offset_in_run, size_t length, char* to) const;

  bool direct() const { return direct_; }
  uint64_t next_number() const;
  uint64_t file_bytes() const;  // of all files, dead space that could not be given back included
  uint64_t live_bytes() const;
  size_t open_files() const;
  uint64_t reads() const;       // calls of the file system and bytes that they brought
  uint64_t read_bytes() const;
  uint64_t written_bytes() const;
  // Segments of which less than `share` is live and whose holes could not be punched: candidates for
  // rewriting. Empty where the file system punches.
  std::vector<uint64_t> SparseSegments(double share) const;

 private:
  kvdyno::FileSystem* files_;
  std::string directory_;
  bool direct_;
  size_t max_open_files_;
};

}  // namespace chunkstore
