// Adding up files' sizes. Owns nothing.
#include "kvdyno/api/log_length.h"

#include <filesystem>

namespace kvdyno {

Counter LogLength(const std::string& directory) {
  namespace fs = std::filesystem;
  double bytes = 0;
  std::error_code error;
  for (fs::directory_iterator file(directory, error), end; !error && file != end;
       file.increment(error)) {
    if (file->path().extension() != ".log") continue;
    std::error_code vanished;
    const uintmax_t size = file->file_size(vanished);
    if (!vanished) bytes += static_cast<double>(size);
  }
  return {"log_length", bytes, "byte", false};
}

}  // namespace kvdyno
