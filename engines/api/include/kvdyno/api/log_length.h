// What logs of an engine weigh on disk. Owns nothing; safe from any thread.
#pragma once

#include <string>

#include "kvdyno/api/adapter.h"

namespace kvdyno {

// The counter `log_length`: bytes of the files in the directory whose names end in ".log". Files that
// vanish meanwhile count nothing.
Counter LogLength(const std::string& directory);

}  // namespace kvdyno
