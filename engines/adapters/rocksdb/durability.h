// What a write that RocksDB has acknowledged survives, from the options that decide it.
// Pure, but for an option file that the options name, which is read.
#pragma once

#include <optional>

#include "kvdyno/api/adapter.h"
#include "kvdyno/rocksdb/options.h"

namespace kvdyno::rocks {

// Nothing when the options cannot be translated, and no store opens with them.
std::optional<Durability> DurabilityOf(Options options, bool sync);

}  // namespace kvdyno::rocks
