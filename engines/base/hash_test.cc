#include "kvdyno/base/hash.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <string>
#include <vector>

namespace kvdyno {
namespace {

TEST(Hash64, DependsOnTheBytesAlone) {
  const std::string text = "x0123456789abcdef";
  EXPECT_EQ(Hash64(std::string_view(text).substr(1)), Hash64("0123456789abcdef"));
}

// Filters that are stored depend on it.
TEST(Hash64, StaysAsItIs) {
  EXPECT_EQ(Hash64(""), 0x247c67d4fab4e199U);
  EXPECT_EQ(Hash64("user0000000012"), 0x7310cf8c125a0772U);
  EXPECT_EQ(Hash64("0123456789abcdef"), 0xd9f592703dabbedaU);
}

TEST(Hash64, DistinguishesLengthsOfZeros) {
  std::set<uint64_t> hashes;
  for (size_t length = 0; length < 200; ++length) hashes.insert(Hash64(std::string(length, '\0')));
  EXPECT_EQ(hashes.size(), 200u);
}

TEST(Hash64, HasNoCollisionAmongNumberedKeys) {
  std::set<uint64_t> hashes;
  for (int i = 0; i < 100'000; ++i) hashes.insert(Hash64("user" + std::to_string(i)));
  EXPECT_EQ(hashes.size(), 100'000u);
}

TEST(Hash64, SpreadsNumberedKeysOverLowAndHighBits) {
  constexpr int kKeys = 64 * 1024;
  constexpr int kBuckets = 64;
  std::vector<int> low(kBuckets);
  std::vector<int> high(kBuckets);
  for (int i = 0; i < kKeys; ++i) {
    const uint64_t hash = Hash64("user" + std::to_string(i));
    ++low[hash % kBuckets];
    ++high[hash >> 58];
  }
  // 1024 expected with a deviation of 32.
  for (const int count : low) EXPECT_NEAR(count, 1024, 200);
  for (const int count : high) EXPECT_NEAR(count, 1024, 200);
}

TEST(Hash64, OneBitChangesAboutHalfOfTheHash) {
  const std::string key = "user0000000000012345";
  for (size_t bit = 0; bit < 8 * key.size(); ++bit) {
    std::string flipped = key;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const int changed = std::popcount(Hash64(key) ^ Hash64(flipped));
    EXPECT_GT(changed, 10) << "bit " << bit;
    EXPECT_LT(changed, 54) << "bit " << bit;
  }
}

}  // namespace
}  // namespace kvdyno
