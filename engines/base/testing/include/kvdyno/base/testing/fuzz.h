// What every fuzz target shares: the entry point's shape, and a check that does not depend on
// NDEBUG. A target is one file <name>_fuzz.cc; its seeds are in corpus/<name>/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace kvdyno::testing {

inline void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: expected %s\n", what);
  std::abort();
}

inline std::string_view View(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace kvdyno::testing
