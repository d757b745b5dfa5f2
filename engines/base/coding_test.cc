#include "kvdyno/base/coding.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace kvdyno {
namespace {

// Both sides of every change of length.
std::vector<uint64_t> Boundaries() {
  std::vector<uint64_t> values = {0, 1, std::numeric_limits<uint64_t>::max()};
  for (int bits = 7; bits < 64; bits += 7) {
    const uint64_t limit = uint64_t{1} << bits;
    values.insert(values.end(), {limit - 1, limit, limit + 1});
  }
  return values;
}

TEST(Varint, IsReadBackAtEveryBoundary) {
  for (const uint64_t value : Boundaries()) {
    std::string bytes;
    AppendVarint(&bytes, value);
    EXPECT_EQ(bytes.size(), static_cast<size_t>(VarintBytes(value))) << value;
    uint64_t got = 0;
    Reader reader(bytes);
    EXPECT_TRUE(reader.Varint(&got)) << value;
    EXPECT_EQ(got, value);
    EXPECT_TRUE(reader.rest().empty());
  }
}

TEST(Varint, HasTheLengthsOfItsForm) {
  EXPECT_EQ(VarintBytes(0), 1);
  EXPECT_EQ(VarintBytes(127), 1);
  EXPECT_EQ(VarintBytes(128), 2);
  EXPECT_EQ(VarintBytes(16383), 2);
  EXPECT_EQ(VarintBytes(16384), 3);
  EXPECT_EQ(VarintBytes(std::numeric_limits<uint64_t>::max()), kMaxVarintBytes);
  std::string bytes;
  AppendVarint(&bytes, 300);
  EXPECT_EQ(bytes, "\xac\x02");
}

TEST(Varint, FailsOnEveryPrefix) {
  for (const uint64_t value : Boundaries()) {
    std::string bytes;
    AppendVarint(&bytes, value);
    for (size_t length = 0; length < bytes.size(); ++length) {
      uint64_t got = 0;
      Reader reader(std::string_view(bytes).substr(0, length));
      EXPECT_FALSE(reader.Varint(&got)) << value << " cut to " << length;
      EXPECT_TRUE(reader.failed());
    }
  }
}

TEST(Varint, RefusesWhatDoesNotFit) {
  uint64_t got = 0;
  const std::string beyond_bytes = std::string(9, '\xff') + "\x02";
  Reader beyond(beyond_bytes);
  EXPECT_FALSE(beyond.Varint(&got));
  const std::string endless_bytes(20, '\x80');
  Reader endless(endless_bytes);
  EXPECT_FALSE(endless.Varint(&got));
}

TEST(Fixed, IsLittleEndian) {
  std::string bytes;
  AppendFixed<uint32_t>(&bytes, 0x01020304);
  EXPECT_EQ(bytes, "\x04\x03\x02\x01");
  char buffer[8];
  StoreFixed<uint64_t>(buffer, 0x1122334455667788);
  EXPECT_EQ(buffer[0], '\x88');
  EXPECT_EQ(LoadFixed<uint64_t>(buffer), 0x1122334455667788u);
}

TEST(Reader, ReadsFieldsInOrder) {
  std::string bytes;
  AppendFixed<uint16_t>(&bytes, 7);
  AppendLengthPrefixed(&bytes, "");
  AppendLengthPrefixed(&bytes, std::string_view("a\0b", 3));
  bytes += "rest";
  Reader reader(bytes);
  uint16_t number = 0;
  std::string_view empty;
  std::string_view text;
  EXPECT_TRUE(reader.Fixed(&number) && reader.LengthPrefixed(&empty) &&
              reader.LengthPrefixed(&text));
  EXPECT_EQ(number, 7);
  EXPECT_EQ(empty, "");
  EXPECT_EQ(text, std::string_view("a\0b", 3));
  EXPECT_EQ(reader.rest(), "rest");
  EXPECT_FALSE(reader.failed());
}

TEST(Reader, StaysFailed) {
  Reader reader("abc");
  uint32_t number = 0;
  uint64_t varint = 0;
  uint8_t byte = 0;
  std::string_view bytes;
  EXPECT_FALSE(reader.Fixed(&number));
  EXPECT_TRUE(reader.failed());
  EXPECT_FALSE(reader.Fixed(&byte));
  EXPECT_FALSE(reader.Varint(&varint));
  EXPECT_FALSE(reader.Bytes(0, &bytes));
  EXPECT_FALSE(reader.LengthPrefixed(&bytes));
}

TEST(Reader, RefusesALengthBeyondTheEnd) {
  std::string bytes;
  AppendVarint(&bytes, std::numeric_limits<uint64_t>::max());
  bytes += "short";
  Reader reader(bytes);
  std::string_view text;
  EXPECT_FALSE(reader.LengthPrefixed(&text));
}

}  // namespace
}  // namespace kvdyno
