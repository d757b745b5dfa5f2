// BackgroundWrites: what was written beside the clients in one phase.
#pragma once

#include <cstdint>

#include "measure/histogram.h"

namespace kvdyno {

struct BackgroundWrites {
  Histogram latency;   // from the intended starts
  uint64_t bytes = 0;  // keys and values
};

}  // namespace kvdyno
