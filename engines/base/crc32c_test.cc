#include "kvdyno/base/crc32c.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "crc32c_ways.h"

namespace kvdyno {
namespace {

// One bit at a time, as the definition reads.
uint32_t ByDefinition(uint32_t state, std::string_view bytes) {
  for (const char c : bytes) {
    state ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) state = (state >> 1) ^ ((state & 1) * 0x82f63b78u);
  }
  return state;
}

std::string RandomBytes(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::string bytes(size, ' ');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

TEST(Crc32c, GivesTheVectorsOfRfc3720) {
  std::string rising(32, ' ');
  std::string falling(32, ' ');
  for (size_t i = 0; i < 32; ++i) {
    rising[i] = static_cast<char>(i);
    falling[i] = static_cast<char>(31 - i);
  }
  // A SCSI read command of the same appendix.
  std::string command(48, '\0');
  command[0] = '\x01';
  command[1] = '\xc0';
  command[16] = '\x14';
  command[22] = '\x04';
  command[27] = '\x14';
  command[31] = '\x18';
  command[32] = '\x28';
  command[40] = '\x02';
  for (const Crc32cWay& way : Crc32cWays()) {
    SCOPED_TRACE(way.name);
    const auto crc = [&](std::string_view bytes) { return ~way.extend(~0u, bytes); };
    EXPECT_EQ(crc(std::string(32, '\0')), 0x8a9136aau);
    EXPECT_EQ(crc(std::string(32, '\xff')), 0x62a8ab43u);
    EXPECT_EQ(crc(rising), 0x46dd794eu);
    EXPECT_EQ(crc(falling), 0x113fdb5cu);
    EXPECT_EQ(crc(command), 0xd9963a56u);
    EXPECT_EQ(crc("123456789"), 0xe3069283u);
    EXPECT_EQ(crc(""), 0u);
  }
}

TEST(Crc32c, EveryWayAgreesOnEveryLengthAndAlignment) {
  constexpr size_t kLengthMax = 3000;
  constexpr uint32_t kSeed = 3720;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  const std::string bytes = RandomBytes(kLengthMax + 16, kSeed);
  for (size_t from = 0; from < 16; ++from) {
    // The definition's state after each length, so that it is computed once.
    uint32_t expected = 0x12345678;
    for (size_t length = 0; length <= kLengthMax; ++length) {
      if (length > 0) expected = ByDefinition(expected, {&bytes[from + length - 1], 1});
      for (const Crc32cWay& way : Crc32cWays()) {
        ASSERT_EQ(way.extend(0x12345678, {&bytes[from], length}), expected)
            << way.name << ", " << length << " bytes from " << from;
      }
    }
  }
}

TEST(Crc32c, EveryWayAgreesOnLongStrings) {
  constexpr uint32_t kSeed = 32;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  const std::string bytes = RandomBytes(100'003, kSeed);
  for (const size_t length : {4096, 4104, 4128, 8191, 65536, 100'003}) {
    const uint32_t expected = ByDefinition(~0u, {bytes.data(), length});
    for (const Crc32cWay& way : Crc32cWays()) {
      EXPECT_EQ(way.extend(~0u, {bytes.data(), length}), expected) << way.name << ", " << length;
    }
  }
}

TEST(Crc32c, GoesOnWhereItEnded) {
  const std::string bytes = RandomBytes(5000, 1);
  const std::string_view all = bytes;
  for (size_t cut = 0; cut <= all.size(); cut += 37) {
    ASSERT_EQ(Crc32c(all.substr(cut), Crc32c(all.substr(0, cut))), Crc32c(all)) << cut;
  }
}

TEST(Crc32c, NamesItsMethod) {
  EXPECT_EQ(Crc32cMethod(), Crc32cWays().front().name);
  EXPECT_EQ(Crc32cWays().back().name, "table");
}

}  // namespace
}  // namespace kvdyno
