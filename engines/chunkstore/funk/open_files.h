// OpenFiles: the segment files that are held open, a bounded number of them.
// Sharded by segment number, each shard a lock and a short list in which the one unused for longest
// gives way. A file stays open while it is held, though it left the table. Safe from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "entry/entry.h"
#include "kvdyno/base/file_system.h"
#include "kvdyno/base/mutex.h"

namespace chunkstore {

class OpenFiles {
 public:
  using File = std::shared_ptr<const kvdyno::RandomAccessFile>;

  OpenFiles(kvdyno::FileSystem* files, std::string directory, bool direct, size_t max_open);
  Status Get(uint64_t segment, File* file);
  void Close(uint64_t segment);  // for a file that is being removed
  size_t count() const;
  // False also where the file system has no direct input.
  bool direct() const { return direct_ && !refused_.load(std::memory_order_relaxed); }

 private:
  struct Slot {
    uint64_t segment = 0;
    uint64_t used = 0;  // the shard's clock when last asked for
    File file;
  };
  struct alignas(64) Shard {
    mutable kvdyno::Mutex mutex;
    uint64_t clock KVDYNO_GUARDED_BY(mutex) = 0;
    std::vector<Slot> slots KVDYNO_GUARDED_BY(mutex);  // at most per_shard_
    File Find(uint64_t segment) KVDYNO_REQUIRES(mutex);
  };
  Shard& ShardOf(uint64_t segment) { return shards_[segment % shards_.size()]; }

  kvdyno::FileSystem* files_;
  const std::string directory_;
  const bool direct_;
  std::atomic<bool> refused_{false};  // a file was opened buffered instead
  std::vector<Shard> shards_;
  size_t per_shard_;
};

}  // namespace chunkstore
