// Repair: makes a store that opens out of what can be read of one that does not.
// Reads all entries that it finds, keeps the newest of each key, and writes them to new segments
// under a new manifest. The old files are moved to a folder lost/ (lost-2/ …) once the new
// ones are durable, so that nothing is destroyed; it takes as much free space as the store holds.
// Versions are new, all of the first epoch.
// The caller holds the directory's lock. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "chunkstore/store.h"
#include "kvdyno/base/file_system.h"

namespace chunkstore {

// The name of the folder for files that the nth repair replaces: "lost", "lost-2", …
std::string LostFolderName(int nth);
bool IsLostFolderName(std::string_view name);

struct RepairOptions {
  uint64_t chunk_bytes = uint64_t{4} << 20;     // of a table
  uint64_t segment_bytes = uint64_t{64} << 20;  // of a file of tables
  size_t block_bytes = 4096;
  double filter_bits = 10;  // per key, of a table's filter; 0: none
};

// Ok: the directory holds a store that opens; the report lists what was damaged, what was
// lost and where the damaged files are. Not Ok: nothing was changed but for new files that no store
// refers to.
Status RepairStore(kvdyno::FileSystem* files, const std::string& directory,
                   const RepairOptions& options, CheckReport* report);

}  // namespace chunkstore
