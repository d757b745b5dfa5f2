// Scratch: the directory in which one index keeps its shards' files, and the cache of their pages.
// Owns the directory's lock and the files' numbers. What an index of a dead process left behind is removed when the
// directory is opened. Safe from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "external/page_cache.h"
#include "kvdyno/base/file_system.h"

namespace sampling {

class Scratch {
 public:
  // Creates the directory where there is none; not its parents. Busy while another index has it.
  static Status Open(kvdyno::FileSystem* files, const std::string& directory,
                     std::shared_ptr<Scratch>* scratch);

  kvdyno::FileSystem* files() const { return files_; }
  PageCache& cache() { return cache_; }
  uint32_t NextNumber() { return ++number_; }
  void NoteWritten(size_t pages) { written_.fetch_add(pages, std::memory_order_relaxed); }
  uint64_t pages_written() const { return written_.load(std::memory_order_relaxed); }
  std::string PathOf(uint32_t number) const;

 private:
  Scratch(kvdyno::FileSystem* files, std::string directory)
      : files_(files), directory_(std::move(directory)) {}
  Status RemoveLeftOvers();

  kvdyno::FileSystem* const files_;
  const std::string directory_;
  std::unique_ptr<kvdyno::DirectoryLock> lock_;
  PageCache cache_;
  std::atomic<uint32_t> number_{0};
  std::atomic<uint64_t> written_{0};
};

}  // namespace sampling
