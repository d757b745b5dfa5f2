// Slowdowns: a test build that is slower on purpose, to show that a gate notices. CMake's options
// CHUNKSTORE_TEST_SLOWDOWN_GET and _PUT choose them; in every other build the functions are empty.
// Thread-safe: nothing is shared.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace chunkstore {

#ifdef CHUNKSTORE_TEST_SLOWDOWN_GET
inline constexpr uint64_t kSlowdownGet = CHUNKSTORE_TEST_SLOWDOWN_GET;
#else
inline constexpr uint64_t kSlowdownGet = 0;
#endif
#ifdef CHUNKSTORE_TEST_SLOWDOWN_PUT
inline constexpr bool kSlowdownPut = true;
#else
inline constexpr bool kSlowdownPut = false;
#endif

// Executes about kSlowdownGet instructions, the same number each time.
inline void SlowGet() {
  if constexpr (kSlowdownGet > 0) {
    constexpr uint64_t kInstructionsAStep = 5;
    volatile uint64_t kept = 0;
    uint64_t mixed = kSlowdownGet;
    for (uint64_t step = 0; step < kSlowdownGet / kInstructionsAStep; ++step) {
      mixed ^= mixed << 7;
      asm volatile("" : "+r"(mixed));
    }
    kept = mixed;
    (void)kept;
  }
}

// Copies the value once more than a put needs.
inline void SlowPut(std::string_view value) {
  if constexpr (kSlowdownPut) {
    std::string copy(value);
    const char* bytes = copy.data();
    asm volatile("" : : "r"(bytes) : "memory");
  }
}

}  // namespace chunkstore
