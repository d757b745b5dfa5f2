// SILK's options, beside RocksDB's.
// Built before threads start; read-only afterwards.
#pragma once

#include <cstdint>

#include "kvdyno/api/options.h"
#include "kvdyno/base/status.h"
#include "kvdyno/tuners/silk.h"

namespace kvdyno::silk {

struct Options {
  bool tuning = true;
  uint64_t bandwidth = 200'000'000;            // bytes per second
  uint64_t compaction_bandwidth = 10'000'000;  // bytes per second
  double window = 0.01;                        // seconds
  double peak_share = 0.75;
  double gate_max = 1;  // seconds

  void Describe(OptionTable* table);

  // InvalidArgument when more is guaranteed than there is.
  Status Resolve(tuners::SilkSettings* settings) const;
};

}  // namespace kvdyno::silk
