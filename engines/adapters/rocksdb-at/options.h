// The auto-tuned limiter's options, beside RocksDB's.
// Built before threads start; read-only afterwards.
#pragma once

#include <rocksdb/rate_limiter.h>

#include <cstdint>
#include <memory>
#include <string>

#include "kvdyno/api/options.h"

namespace kvdyno::at {

struct Options {
  uint64_t bandwidth_max = 200'000'000;  // bytes per second
  std::string limits = "writes";

  void Describe(OptionTable* table);
  std::shared_ptr<rocksdb::RateLimiter> MakeLimiter() const;
};

}  // namespace kvdyno::at
