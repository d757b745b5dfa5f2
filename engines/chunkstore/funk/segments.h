// Segments: the files that hold runs, written once and then only read or given back.
// Owns numbers, open files and the space in them. Knows nothing of chunks or keys. Safe from any
// thread, but for SegmentWriter (one thread).
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "concurrency/worker.h"
#include "entry/entry.h"
#include "funk/extents.h"
#include "funk/format.h"
#include "funk/open_files.h"
#include "kvdyno/base/file_system.h"
#include "kvdyno/base/mutex.h"

namespace chunkstore {

class Segments;

// Writes a new segment through two aligned buffers: while one is filled, the other is written. After
// an error, which may be one of an earlier write, every call returns that error.
class SegmentWriter {
 public:
  ~SegmentWriter();
  SegmentWriter(const SegmentWriter&) = delete;
  SegmentWriter& operator=(const SegmentWriter&) = delete;
  uint64_t number() const { return number_; }
  uint64_t offset() const { return offset_; }  // bytes appended so far
  Status Append(std::string_view bytes);
  // Pads to a whole page and, with `sync`, makes file and directory entry durable.
  Status Finish(bool sync);

 private:
  friend class Segments;
  SegmentWriter(Segments* segments, uint64_t number, std::unique_ptr<kvdyno::WritableFile> file);
  Status WriteBuffer();
  Status WaitForWrite();

  Segments* segments_;
  uint64_t number_ = 0;
  uint64_t offset_ = 0;
  std::unique_ptr<kvdyno::WritableFile> file_;
  kvdyno::AlignedBuffer buffer_;
  size_t buffered_ = 0;
  Status status_;
  bool finished_ = false;
  kvdyno::AlignedBuffer on_its_way_;
  Status written_;  // of the write that is on its way
  Worker worker_;   // the last member: it ends before what it writes goes
};

// The thread's own buffer for short reads, for a scope; such scopes do not nest. Keeps at most a
// bit more than 1 MiB from one scope to the next.
class ThreadBuffer {
 public:
  ThreadBuffer();
  ~ThreadBuffer();
  ThreadBuffer(const ThreadBuffer&) = delete;
  ThreadBuffer& operator=(const ThreadBuffer&) = delete;
  kvdyno::AlignedBuffer* get() const { return buffer_; }

 private:
  kvdyno::AlignedBuffer* buffer_;
};

// One of several reads that are asked for together: bytes of a run. `bytes` lies in the buffer that
// the call was given.
struct SegmentRead {
  ExtentRef extent;
  uint64_t offset_in_run = 0;
  size_t length = 0;
  std::string_view bytes;
  Status status;
};

class Segments {
 public:
  // Holes cost a transaction of the file system each, and where it discards a command to the device,
  // removing a file hardly more than one hole: so dead space waits until there is `least_dead` of
  // what a file takes more than when it was last looked at, or until all is dead. From that,
  // `least_hole` is the number of bytes in a row that are worth a hole.
  Segments(kvdyno::FileSystem* files, std::string directory, bool direct, size_t max_open_files,
           uint64_t least_hole = uint64_t{16} << 10, double least_dead = 0.25);

  // Open: what the manifest lists is in use; files that nothing refers to are removed (unless
  // read_only). Numbers go on after the largest one seen. Corruption when a file is missing or ends
  // before a live run does.
  Status Recover(const std::vector<ExtentRef>& live, bool read_only);

  // From now on threads of their own write, and give space back, while callers go on. While no
  // writer exists and no other thread is here.
  void UseThreads() { space_ = std::make_unique<Worker>(true); }

  // A writer for the next number; an unfinished segment is removed with its writer, which must not
  // outlive this.
  Status Create(std::unique_ptr<SegmentWriter>* writer);
  // A finished segment's runs are in use from now on.
  void AddLive(const ExtentRef& extent);
  // The run is not referred to by the manifest and not read any more: its space goes back, with
  // the file when nothing else is left in it, else as a hole where the file system can. Also for a
  // run that was finished but never added.
  void Free(const ExtentRef& extent);
  // Returns when what was freed so far has gone back.
  void WaitForSpace();
  // Gives back what a crash left between the live runs of each file, and tries again what failed
  // before. Slow; for background work. Until it was called, file_bytes() counts recovered files
  // whole.
  void PunchGaps();

  // Reads bytes of a run, aligned or not as the caller likes: with direct input the surrounding
  // blocks of the device are read into a scratch buffer of the thread. Corruption when the file ends early.
  Status Read(const ExtentRef& extent, uint64_t offset_in_run, size_t length, char* to) const;
  // The same without the copy: *bytes lies in *buffer, which grows as needed.
  Status ReadInto(const ExtentRef& extent, uint64_t offset_in_run, size_t length,
                  kvdyno::AlignedBuffer* buffer, std::string_view* bytes) const;
  // ReadInto for each, several on the way at once.
  void ReadTogether(std::vector<SegmentRead>* reads, kvdyno::AlignedBuffer* buffer) const;

  bool direct() const { return open_.direct(); }  // of reads
  std::string PathOf(uint64_t segment) const { return directory_ + "/" + SegmentName(segment); }
  uint64_t next_number() const;
  uint64_t file_bytes() const;  // of all files, dead space that could not be given back included
  uint64_t live_bytes() const;
  size_t count() const;  // files
  size_t open_files() const { return open_.count(); }
  uint64_t reads() const;  // calls of the file system and bytes that they brought
  uint64_t read_bytes() const;
  uint64_t written_bytes() const;
  uint64_t space_errors() const;  // removals and holes that failed, other than for lack of support
  // Segments of which less than `share` is live and whose holes could not be punched: candidates
  // for rewriting. Empty where the file system punches.
  std::vector<uint64_t> SparseSegments(double share) const;

 private:
  friend class SegmentWriter;
  struct Segment {
    uint64_t size = 0;
    uint64_t punched = 0;  // bytes that went back already
    RangeSet live;         // runs in use
    RangeSet dead;         // neither in use nor given back; what is in no set may become live
    uint64_t left = 0;     // of the dead bytes: looked at already, and not given back
    bool asked = false;    // dead space is about to be given back
  };

  // What is wrong with a read from `from` that brought `read` bytes; counts it.
  Status CheckRead(const ExtentRef& extent, ByteRange wanted, uint64_t from, size_t read) const;
  void AddFinished(uint64_t number, uint64_t appended, uint64_t size);
  Status ScanDirectory(bool read_only);
  // Both return whether the space went back; they hold no lock while the file system works.
  bool RemoveFile(uint64_t number);
  bool Punch(uint64_t number, ByteRange pages);
  void GiveBack(uint64_t number, uint64_t least);

  kvdyno::FileSystem* files_;
  std::string directory_;
  uint64_t least_hole_;
  double least_dead_;
  bool direct_;
  mutable OpenFiles open_;

  mutable kvdyno::Mutex mutex_;
  std::map<uint64_t, Segment> segments_ KVDYNO_GUARDED_BY(mutex_);
  uint64_t next_number_ KVDYNO_GUARDED_BY(mutex_) = 1;

  std::atomic<bool> cannot_punch_{false};
  std::atomic<uint64_t> space_errors_{0};
  std::atomic<uint64_t> written_bytes_{0};
  mutable std::atomic<uint64_t> reads_{0};
  mutable std::atomic<uint64_t> read_bytes_{0};
  std::unique_ptr<Worker> space_;  // null: callers give space back. The last member: it uses others
};

}  // namespace chunkstore
