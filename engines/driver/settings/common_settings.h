// CommonSettings: the properties that every driver has, with their defaults.
// Plain values; the names here are the properties' names. Immutable once filled.
#pragma once

#include <cstdint>
#include <string>

#include "kvdyno/base/status.h"

namespace kvdyno {

struct CommonSettings {
  // How the clients work. A driver without durable writes leaves `sync` alone.
  int64_t thread_count = 1;
  bool sync = false;

  // Places.
  std::string data_dir;
  bool destroy_data = false;
  std::string db_name;
  std::string output_dir;
  int64_t progress_fd = -1;
  uint64_t memory_cap = 0;

  // Reporting.
  bool status = false;
  double status_interval = 10;
  double series_interval = 1;

  // InvalidArgument when the directory is missing, or the engine is not `engine_name`, that of this binary.
  Status CheckCommon(const std::string& engine_name) const;
};

}  // namespace kvdyno
