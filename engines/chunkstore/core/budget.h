// What a store's memory budget must pay for beside what the store counts.
#pragma once

#include <cstdint>

namespace chunkstore {

// Bytes that allocators keep beyond what was asked of them, stacks, and the process's own; measured
// on resident sets with budgets of 32 MiB to 256 MiB.
constexpr uint64_t ProcessReserve(uint64_t memory_budget) {
  return (uint64_t{14} << 20) + memory_budget / 32;
}

}  // namespace chunkstore
