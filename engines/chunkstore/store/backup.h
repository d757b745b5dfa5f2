// Backup: copies the runs of a moment into a store of its own, in a directory that holds nothing.
// Knows runs as bytes. One thread; the caller keeps the runs on disk.
#pragma once

#include <functional>
#include <string>

#include "funk/segments.h"
#include "kvdyno/base/file_system.h"
#include "manifest/manifest.h"

namespace chunkstore {

struct BackupSource {
  const Segments* segments;
  ManifestState state;            // nothing of it is in a ring
  std::function<Status()> check;  // asked after each MiB: why to stop, or Ok
};

// Durable, and closed properly, on return. After an error nothing is left in the directory, nor the
// directory if this made it. InvalidArgument if it holds anything.
Status WriteBackup(BackupSource source, kvdyno::FileSystem* files, const std::string& directory);

}  // namespace chunkstore
