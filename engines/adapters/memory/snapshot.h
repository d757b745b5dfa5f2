// The memory engine's file: all entries in key order, replaced as a whole.
// Owns the format and the directory's lock; knows no session.
// One thread at a time.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "kvdyno/base/status.h"

namespace kvdyno::memory {

using Map = std::map<std::string, std::string, std::less<>>;

// Keeps other stores, of this process or another, out of a directory until it is destroyed.
class DirectoryLock {
 public:
  DirectoryLock() = default;
  ~DirectoryLock();
  DirectoryLock(DirectoryLock&& other) noexcept;
  DirectoryLock& operator=(DirectoryLock&& other) noexcept;

  // Busy when it is held, IoError when the directory cannot be written.
  Status Acquire(const std::string& directory);

 private:
  int fd_ = -1;
};

// Reads the file of `directory` into the empty *map; no file means no entries.
// Corruption when the file is not one that WriteSnapshot wrote as a whole, IoError when it cannot
// be read.
Status ReadSnapshot(const std::string& directory, Map* map);

// Replaces the file of `directory`; a crash leaves the old one or the new one.
Status WriteSnapshot(const std::string& directory, const Map& map);

}  // namespace kvdyno::memory
