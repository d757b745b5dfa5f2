// ADOC's options, beside RocksDB's, and what they and the store's options make of them.
// Built before threads start; read-only afterwards.
#pragma once

#include <rocksdb/options.h>

#include <cstdint>
#include <string>

#include "kvdyno/api/options.h"
#include "kvdyno/base/status.h"
#include "kvdyno/tuners/adoc.h"

namespace kvdyno::adoc {

struct Options {
  bool tuning = true;
  std::string mode = "paper";
  double window = 1;  // seconds
  int64_t threads_min = 2;
  int64_t threads_max = 0;  // 0: as many as there are cores
  uint64_t batch_min = uint64_t{64} << 20;
  uint64_t batch_max = uint64_t{512} << 20;
  uint64_t batch_step = uint64_t{64} << 20;

  void Describe(OptionTable* table);

  tuners::AdocMode Mode() const;

  // The bounds for a store with these options. InvalidArgument names what cannot be: bounds that
  // exclude each other, a store that begins outside of them, memtables beyond the cap (0: none).
  Status Resolve(const rocksdb::Options& store, uint64_t memory_cap_bytes,
                 tuners::AdocLimits* limits) const;
};

}  // namespace kvdyno::adoc
