// A fast 64-bit hash of a byte string, for filters and caches. Not for adversarial input. Filters of
// tables are stored, so it must stay as it is. Pure function, of little-endian machines.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace kvdyno {

// Multiply-fold over 8-byte words, in the manner of wyhash (Wang Yi, public domain).
inline uint64_t Hash64(std::string_view bytes) {
  const auto fold = [](uint64_t a, uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  };
  uint64_t hash = 0x9e3779b97f4a7c15u ^ bytes.size();
  const char* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    hash = fold(hash ^ word, 0xa0761d6478bd642fu);
  }
  uint64_t tail = 0;
  if (left > 0) std::memcpy(&tail, at, left);
  return fold(hash ^ tail ^ 0xe7037ed1a0b428dbu, 0x8ebc6af09c88c6e3u ^ bytes.size());
}

}  // namespace kvdyno
