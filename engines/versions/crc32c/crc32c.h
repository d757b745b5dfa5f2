// The interface that LevelDB expects of a library crc32c. Pure functions, safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace crc32c {

uint32_t Extend(uint32_t crc, const uint8_t* bytes, size_t size);

}  // namespace crc32c

// The C interface, visible outside LevelDB's library: LevelDB's adapter measures it.
extern "C" __attribute__((visibility("default"))) uint32_t crc32c_extend(uint32_t crc,
                                                                         const uint8_t* bytes,
                                                                         size_t size);
