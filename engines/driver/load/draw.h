// Draws from a workload's mix without an engine: which operations and which keys, how often.
// Lets a stranger test the generators against the distributions that they promise.
// One thread.
#pragma once

#include <cstdint>
#include <string>

#include "kvdyno/base/status.h"
#include "load/workload.h"

namespace kvdyno {

// CSV with a header: `operation,<name>,<times>` and `key,<index>,<times>`, of `count` draws by the
// first client; what was never drawn has no row. A key of an insert is not drawn, and not counted.
Status DrawTable(const Workload& workload, uint64_t count, std::string* table);

}  // namespace kvdyno
