// The ways to compute CRC-32C that this machine has, for Crc32c and for tests that compare them.
// Owns no choice but the order. Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace kvdyno {

struct Crc32cWay {
  std::string_view name;
  // `state` is the complement of the checksum so far.
  uint32_t (*extend)(uint32_t state, std::string_view bytes);
};

std::vector<Crc32cWay> Crc32cWays();  // the fastest first

}  // namespace kvdyno
