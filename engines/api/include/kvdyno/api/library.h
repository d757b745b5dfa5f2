// Facts about an engine's library as this process loaded it: what a comparison of engines must hold
// equal or report. Owns nothing; knows ELF files and symbols, no engine. Safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace kvdyno {

// An empty text, or no value: not known.
struct LibraryFacts {
  std::string origin;              // "system", "built" (from an archive) or "project"
  std::optional<bool> assertions;  // whether they are compiled in
  std::string checksum;            // "hardware" or "software"
  std::string allocator;           // "jemalloc", "tcmalloc" or "glibc 2.36"
  std::string compiler;            // "GCC: (Debian 12.2.0-14) 12.2.0"
  std::string flags;               // of the compiler
};

// The library that holds `function`, by looking at its file: whether it imports the function that a
// failed assertion calls, and the compiler's note. For a function of the program itself, assertions
// are those that `function`'s caller was compiled with, `linked_assertions`.
LibraryFacts ProbeLibrary(const void* function, bool linked_assertions);

// "hardware" where a byte's checksum takes less than half a nanosecond, "software" where it takes
// more: instructions need below 0.2, tables about 1. Takes the best of many short rounds, a
// millisecond in all, which other programs hardly lengthen.
std::string ProbeChecksum(const std::function<uint32_t(std::string_view)>& checksum);

// The allocator that answers this process's malloc.
std::string ProbeAllocator();

// Whether assertions are compiled into the file that asks.
#ifdef NDEBUG
inline constexpr bool kAssertions = false;
#else
inline constexpr bool kAssertions = true;
#endif

}  // namespace kvdyno
