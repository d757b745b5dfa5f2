// Disk space of a folder.
// Owns nothing; safe from any thread.
#pragma once

#include <cstdint>
#include <string>

namespace kvdyno {

// Bytes allocated by the files below `directory` (not their lengths: holes do not count). Files
// that vanish meanwhile are skipped; 0 when there is no such folder.
uint64_t AllocatedBytes(const std::string& directory);

}  // namespace kvdyno
