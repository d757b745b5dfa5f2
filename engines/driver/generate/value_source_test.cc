#include "kvdyno/generate/value_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <unordered_set>

namespace kvdyno {
namespace {

constexpr std::array<uint64_t, 15> kSizes = {0,  1,  7,  8,  16,  23,  24,  25,
                                             31, 32, 39, 99, 100, 800, 4096};

std::string Value(const ValueSource& source, uint64_t key_index, uint64_t sequence) {
  std::string buffer;
  return std::string(source.Make(key_index, sequence, &buffer));
}

TEST(ValueSource, MakesExactlyTheSize) {
  for (const uint64_t size : kSizes) {
    for (const double compressibility : {0.0, 0.5, 1.0}) {
      const ValueSource source({size, compressibility, 1});
      const std::string value = Value(source, 5, 6);
      EXPECT_EQ(value.size(), size);
      EXPECT_TRUE(source.Verify(5, value).ok()) << size << " " << compressibility;
    }
  }
}

TEST(ValueSource, ReusesTheBuffer) {
  const ValueSource source({800, 0, 1});
  std::string buffer;
  const char* data = source.Make(1, 1, &buffer).data();
  EXPECT_EQ(source.Make(2, 2, &buffer).data(), data);
  EXPECT_TRUE(source.Verify(2, buffer).ok());
}

TEST(ValueSource, FollowsFromSpecKeyAndSequence) {
  const ValueSource source({100, 0, 1});
  EXPECT_EQ(Value(source, 1, 2), Value(ValueSource({100, 0, 1}), 1, 2));
  EXPECT_NE(Value(source, 1, 2), Value(source, 1, 3));
  EXPECT_NE(Value(source, 1, 2), Value(source, 2, 2));
  EXPECT_NE(Value(source, 1, 2), Value(ValueSource({100, 0, 2}), 1, 2));
  EXPECT_FALSE(ValueSource({100, 0, 2}).Verify(1, Value(source, 1, 2)).ok());
}

TEST(ValueSource, AcceptsEveryVersionOfAKey) {
  const ValueSource source({800, 0.3, 7});
  for (uint64_t sequence = 0; sequence < 1000; ++sequence) {
    ASSERT_TRUE(source.Verify(11, Value(source, 11, sequence)).ok());
  }
  EXPECT_TRUE(source.Verify(~uint64_t{0}, Value(source, ~uint64_t{0}, ~uint64_t{0})).ok());
}

TEST(ValueSource, CatchesEveryFlippedBit) {
  for (const uint64_t size : kSizes) {
    const ValueSource source({size, 0.25, 3});
    std::string value = Value(source, 123, 456);
    for (size_t bit = 0; bit < 8 * size; ++bit) {
      const char flip = static_cast<char>(1 << bit % 8);
      value[bit / 8] ^= flip;
      ASSERT_EQ(source.Verify(123, value).code(), Code::kCorruption)
          << "size " << size << ", bit " << bit;
      value[bit / 8] ^= flip;
    }
    ASSERT_TRUE(source.Verify(123, value).ok());
  }
}

TEST(ValueSource, CatchesAnotherKeysValue) {
  for (const uint64_t size : {8, 24, 800}) {
    const ValueSource source({size, 0, 3});
    for (uint64_t key = 1; key < 500; ++key) {
      ASSERT_FALSE(source.Verify(0, Value(source, key, 0)).ok()) << size << " " << key;
    }
  }
}

TEST(ValueSource, CatchesAPayloadOfAnotherVersion) {
  const ValueSource source({800, 0, 3});
  const std::string torn = Value(source, 9, 1).substr(0, 400) + Value(source, 9, 2).substr(400);
  EXPECT_EQ(source.Verify(9, torn).code(), Code::kCorruption);
}

TEST(ValueSource, ReportsWhatWasExpectedAndFound) {
  const ValueSource source({100, 0, 3});
  EXPECT_EQ(source.Verify(9, "short").message(), "value of key 9: expected 100 bytes, got 5");
  EXPECT_EQ(source.Verify(9, Value(source, 8, 4)).message(),
            "value of key 9: expected its own stamp, got that of key 8, sequence 4");
  std::string value = Value(source, 9, 4);
  value[20] = static_cast<char>(value[20] + 1);
  EXPECT_EQ(source.Verify(9, value).message(),
            "value of key 9: expected a valid stamp, got a checksum that does not match");
  value = Value(source, 9, 4);
  value[60] = static_cast<char>(value[60] + 1);
  EXPECT_NE(source.Verify(9, value).message().find("expected byte 60 of sequence 4 to be "),
            std::string::npos);
}

// The fraction of bytes that repeat eight bytes seen earlier: about what an LZ compressor with a
// window of the whole text can remove.
double RepeatedFraction(const std::string& text) {
  std::unordered_set<std::string> seen;
  size_t repeated = 0;
  for (size_t i = 0; i + 8 <= text.size();) {
    const bool known = seen.contains(text.substr(i, 8));
    for (size_t end = i + (known ? 8 : 1); i < end; ++i) seen.insert(text.substr(i, 8));
    repeated += known ? 8 : 0;
  }
  return static_cast<double>(repeated) / static_cast<double>(text.size());
}

TEST(ValueSource, IsAsCompressibleAsAsked) {
  for (const double compressibility : {0.0, 0.3, 0.5, 0.9}) {
    const ValueSource source({800, compressibility, 5});
    std::string text;
    for (uint64_t key = 0; key < 200; ++key) text += Value(source, key, 0);
    EXPECT_NEAR(RepeatedFraction(text), compressibility, 0.015);
  }
}

TEST(ValueSource, UsesAllBytesAlike) {
  const ValueSource source({1000, 0, 6});
  std::vector<int> counts(256);
  for (uint64_t key = 0; key < 1000; ++key) {
    for (const char c : Value(source, key, 0)) ++counts[static_cast<unsigned char>(c)];
  }
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  EXPECT_GT(*least, 3906 * 0.9);
  EXPECT_LT(*most, 3906 * 1.1);
}

}  // namespace
}  // namespace kvdyno
