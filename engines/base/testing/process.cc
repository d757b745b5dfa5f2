#include "kvdyno/base/testing/process.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

namespace kvdyno::testing {
namespace {

// Mapping a file reads nothing in; mincore reports what is there already.
uint64_t CachedBytesOfFile(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;  // removed meanwhile
  const off_t size = ::lseek(file, 0, SEEK_END);
  uint64_t pages = 0;
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  if (size > 0) {
    const auto bytes = static_cast<size_t>(size);
    void* memory = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
    std::vector<unsigned char> resident((bytes + page - 1) / page);
    if (memory != MAP_FAILED) {
      if (::mincore(memory, bytes, resident.data()) == 0) {
        pages = static_cast<uint64_t>(
            std::count_if(resident.begin(), resident.end(), [](auto r) { return (r & 1) != 0; }));
      }
      ::munmap(memory, bytes);
    }
  }
  ::close(file);
  return pages * page;
}

}  // namespace

uint64_t ResidentBytes() {
  ::malloc_trim(0);
  std::ifstream pages("/proc/self/statm");
  uint64_t total = 0, resident = 0;
  pages >> total >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

uint64_t AnonymousBytes() { return ProcNumber("/proc/self/status", "RssAnon:") * 1024; }

uint64_t CachedBytes(const std::string& directory) {
  uint64_t bytes = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.is_regular_file(error)) bytes += CachedBytesOfFile(entry.path().string());
  }
  return bytes;
}

uint64_t OpenFileDescriptors() {
  std::error_code error;
  const std::filesystem::directory_iterator all("/proc/self/fd", error), end;
  return static_cast<uint64_t>(std::distance(all, end));
}

uint64_t ProcNumber(const std::string& path, const std::string& name) {
  std::ifstream words(path);
  uint64_t number = 0;
  for (std::string word; !name.empty() && words >> word;) {
    if (word == name) break;
  }
  return words >> number ? number : 0;
}

}  // namespace kvdyno::testing
