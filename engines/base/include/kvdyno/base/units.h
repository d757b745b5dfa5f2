// Sizes, durations and rates as people write them.
// Owns the spelling of units; the harness's kvdyno.model.units follows the same rules.
// Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kvdyno/base/status.h"

namespace kvdyno {

// "64MiB", "64MB" (also 2^20 steps, as storage engines' options mean it), "4KiB", "512", "512B".
// Units are powers of 1024 in every spelling; fractions ("1.5GiB") are allowed when the result is
// whole.
Status ParseBytes(std::string_view text, uint64_t* bytes);

// "10s", "250ms", "5min", "2h", "100us"; a bare number is seconds. The result is in seconds.
Status ParseSeconds(std::string_view text, double* seconds);

// Exact, in the largest unit that divides it: 67108864 → "64MiB", 1000 → "1000".
std::string FormatBytes(uint64_t bytes);

}  // namespace kvdyno
