#include "kvdyno/generate/key_format.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace kvdyno {
namespace {

std::string Key(const KeyFormat& format, uint64_t index) {
  std::string key = "something longer than any key that could come out";
  format.Format(index, &key);
  std::vector<char> buffer(format.max_size());
  EXPECT_EQ(format.Format(index, buffer.data()), key) << "both overloads spell alike";
  return key;
}

TEST(KeyFormat, SpellsFourteenBytesByDefault) {
  const KeyFormat format;
  EXPECT_EQ(Key(format, 0), "user0000000000");
  EXPECT_EQ(Key(format, 42), "user0000000042");
  EXPECT_EQ(Key(format, 9999999999), "user9999999999");
}

TEST(KeyFormat, KeysSortAsFarAsDigitsGo) {
  EXPECT_TRUE(KeyFormat("k", 3).SortsUpTo(999));
  EXPECT_FALSE(KeyFormat("k", 3).SortsUpTo(1000));
}

TEST(KeyFormat, SpellsAnyWidth) {
  EXPECT_EQ(Key(KeyFormat("", 1), 7), "7");
  EXPECT_EQ(Key(KeyFormat("k", 3), 45), "k045");
  EXPECT_EQ(Key(KeyFormat("", 25), 12345), "0000000000000000000012345");
  EXPECT_EQ(Key(KeyFormat("", 20), std::numeric_limits<uint64_t>::max()), "18446744073709551615");
}

TEST(KeyFormat, NeverCutsAnIndex) {
  EXPECT_EQ(Key(KeyFormat("k", 1), 10), "k10");
  EXPECT_EQ(Key(KeyFormat("k", 3), 1000), "k1000");
  EXPECT_EQ(Key(KeyFormat("k", 3), std::numeric_limits<uint64_t>::max()), "k18446744073709551615");
  EXPECT_EQ(Key(KeyFormat("k", 19), 9999999999999999999u), "k9999999999999999999");
  EXPECT_EQ(Key(KeyFormat("k", 19), 10000000000000000000u), "k10000000000000000000");
}

TEST(KeyFormat, KeysSortAsTheirIndicesDo) {
  const KeyFormat format("user", 5);
  std::string previous = Key(format, 0);
  for (uint64_t index = 1; index < 100000; ++index) {
    std::string key = Key(format, index);
    ASSERT_LT(previous, key);
    ASSERT_EQ(key.size(), 9u);
    previous = std::move(key);
  }
}

TEST(KeyFormat, ParsesWhatItSpells) {
  for (const int digits : {1, 2, 3, 10, 19, 20, 30}) {
    const KeyFormat format("pre", digits);
    for (uint64_t index = 1; index != 0; index *= 3) {
      uint64_t parsed = 0;
      ASSERT_TRUE(format.Parse(Key(format, index), &parsed));
      ASSERT_EQ(parsed, index);
      if (index > std::numeric_limits<uint64_t>::max() / 3) break;
    }
  }
}

TEST(KeyFormat, ParsesNothingElse) {
  const KeyFormat format("user", 4);
  uint64_t index = 0;
  for (const char* key : {"", "user", "user012", "use00012", "user00012", "user001x", "user-001",
                          "user 001", "user99999999999999999999", "0001"}) {
    EXPECT_FALSE(format.Parse(key, &index)) << key;
  }
  EXPECT_TRUE(format.Parse("user12345", &index));
  EXPECT_EQ(index, 12345u);
}

}  // namespace
}  // namespace kvdyno
