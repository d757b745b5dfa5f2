// Resolving options: ranges checked, automatic values replaced by numbers.
// Knows the machine's memory and its cgroup's cap; reads nothing else. Pure but for that.
#pragma once

#include <cstdint>
#include <string>

#include "chunkstore/options.h"
#include "kvdyno/base/status.h"

namespace chunkstore {

// The memory cap of this process in bytes: the smallest limit of its cgroup and the cgroups above
// (version 1 or 2), or the machine's memory.
uint64_t MemoryCap();

// `cap`: as from MemoryCap(). InvalidArgument names the option, what was expected and what was
// found.
kvdyno::Status ResolveOptions(const Options& given, uint64_t cap, Options* resolved);

}  // namespace chunkstore
