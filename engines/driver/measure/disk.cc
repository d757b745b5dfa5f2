// Walking a folder for its allocated bytes. Owns nothing; safe from any thread.
#include "measure/disk.h"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>

namespace kvdyno {

uint64_t AllocatedBytes(const std::string& directory) {
  constexpr uint64_t kStatBlock = 512;  // the unit of st_blocks, whatever the file system's block
  uint64_t bytes = 0;
  std::error_code error;
  std::filesystem::recursive_directory_iterator it(directory, error);
  for (; !error && it != std::filesystem::end(it); it.increment(error)) {
    struct stat info;
    if (lstat(it->path().c_str(), &info) == 0) {
      bytes += static_cast<uint64_t>(info.st_blocks) * kStatBlock;
    }
  }
  return bytes;
}

}  // namespace kvdyno
