// AnonymousBytes: memory that the whole process holds.
#pragma once

#include <cstdint>

namespace chunkstore {

// Resident bytes that no file backs: heap, stacks, mappings without a file. 0 where the system does
// not say. From any thread; some microseconds.
uint64_t AnonymousBytes();

}  // namespace chunkstore
