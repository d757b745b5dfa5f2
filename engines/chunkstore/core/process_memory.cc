#include "core/process_memory.h"

#include <unistd.h>

#include <fstream>

namespace chunkstore {

uint64_t AnonymousBytes() {
  std::ifstream pages("/proc/self/statm");
  uint64_t total = 0, resident = 0, of_files = 0;
  if (!(pages >> total >> resident >> of_files) || of_files > resident) return 0;
  return (resident - of_files) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace chunkstore
