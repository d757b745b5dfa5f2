// CRC-32C (Castagnoli, RFC 3720 appendix B.4), with the CPU's instruction where it has one.
// Pure functions, safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kvdyno {

// The checksum of `bytes`, or of what `crc` summarises followed by `bytes`.
uint32_t Crc32c(std::string_view bytes, uint32_t crc = 0);

// "sse4.2", "arm crc32" or "table": what this machine computes it with.
std::string_view Crc32cMethod();

}  // namespace kvdyno
