// The lock on a store's directory: flock on its file LOCK, in which the holder's process id stands.
// Owns the descriptor; knows nothing of what it protects. Safe from any thread.
#pragma once

#include <memory>
#include <string>

#include "kvdyno/base/file_system.h"

namespace kvdyno {

// Busy when any other open of the file holds it, of this process or another.
Status LockDirectory(const std::string& directory, std::unique_ptr<DirectoryLock>* lock);
// Busy when it is held exclusively. Null if there is no file.
Status LockDirectoryShared(const std::string& directory, std::unique_ptr<DirectoryLock>* lock);

}  // namespace kvdyno
