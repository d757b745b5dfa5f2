#include "kvdyno/api/library.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <array>
#include <cstdio>

#include "kvdyno/base/crc32c.h"

namespace kvdyno {
namespace {

const void* Own() { return reinterpret_cast<const void*>(&ProbeAllocator); }

TEST(ProbeLibrary, TakesTheProgramsOwnAssertionsFromItsCaller) {
  EXPECT_EQ(ProbeLibrary(Own(), true).assertions, true);
  EXPECT_EQ(ProbeLibrary(Own(), false).assertions, false);
}

TEST(ProbeLibrary, ReadsTheCompilersNote) {
  EXPECT_NE(ProbeLibrary(Own(), false).compiler.find("."), std::string::npos);
}

TEST(ProbeLibrary, LooksIntoSharedLibraries) {
  // zlib is built without assertions, and calls none.
  const auto function = reinterpret_cast<const void*>(&zlibVersion);
  EXPECT_EQ(ProbeLibrary(function, true).assertions, false);
}

TEST(ProbeLibrary, ReturnsNothingForWhatIsNoFunction) {
  const LibraryFacts facts = ProbeLibrary(nullptr, true);
  EXPECT_EQ(facts.assertions, std::nullopt);
  EXPECT_EQ(facts.compiler, "");
}

// A bit at a time is slower than any table, on any machine that this runs on.
uint32_t BitByBit(std::string_view bytes) {
  uint32_t crc = ~0U;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0x82f63b78U & (0U - (crc & 1U)));
  }
  return ~crc;
}

TEST(ProbeChecksum, FindsSoftware) { EXPECT_EQ(ProbeChecksum(BitByBit), "software"); }

TEST(ProbeChecksum, FindsWhatTakesNoTime) {
  EXPECT_EQ(ProbeChecksum([](std::string_view) { return 0U; }), "hardware");
}

TEST(ProbeAllocator, NamesOne) { EXPECT_FALSE(ProbeAllocator().empty()); }

}  // namespace
}  // namespace kvdyno
