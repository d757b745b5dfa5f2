#include "kvdyno/base/units.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace kvdyno {
namespace {

uint64_t Bytes(std::string_view text) {
  uint64_t bytes = 0;
  const Status status = ParseBytes(text, &bytes);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return bytes;
}

double Seconds(std::string_view text) {
  double seconds = 0;
  const Status status = ParseSeconds(text, &seconds);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return seconds;
}

// The message with which `text` is refused; the result must be left alone.
std::string BytesError(std::string_view text) {
  uint64_t bytes = 77;
  const Status status = ParseBytes(text, &bytes);
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
  EXPECT_EQ(bytes, 77u) << text;
  return status.message();
}

std::string SecondsError(std::string_view text) {
  double seconds = 77;
  const Status status = ParseSeconds(text, &seconds);
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
  EXPECT_EQ(seconds, 77) << text;
  return status.message();
}

TEST(ParseBytes, KnowsEverySpelling) {
  EXPECT_EQ(Bytes("0"), 0u);
  EXPECT_EQ(Bytes("512"), 512u);
  EXPECT_EQ(Bytes("512B"), 512u);
  EXPECT_EQ(Bytes("4KiB"), 4096u);
  EXPECT_EQ(Bytes("4kb"), 4096u);
  EXPECT_EQ(Bytes("4k"), 4096u);
  EXPECT_EQ(Bytes("64MB"), 64u << 20);
  EXPECT_EQ(Bytes(" 64 MiB "), 64u << 20);
  EXPECT_EQ(Bytes("2TiB"), uint64_t{2} << 40);
  EXPECT_EQ(Bytes("15EiB"), uint64_t{15} << 60);
  EXPECT_EQ(Bytes("18446744073709551615"), std::numeric_limits<uint64_t>::max());
}

TEST(ParseBytes, AllowsFractionsOfAWholeResult) {
  EXPECT_EQ(Bytes("1.5GiB"), uint64_t{3} << 29);
  EXPECT_EQ(Bytes("0.25KiB"), 256u);
  EXPECT_EQ(Bytes("3.000"), 3u);
  EXPECT_EQ(Bytes("15.5EiB"), uint64_t{31} << 59);
}

TEST(ParseBytes, RefusesWhatIsNoSize) {
  for (const char* text : {"", " ", "MiB", "-5MiB", "+5", "five", "0x10"}) {
    EXPECT_NE(BytesError(text).find("expected"), std::string::npos) << text;
  }
  EXPECT_EQ(BytesError("64XB"),
            "size '64XB': expected a unit of B, KiB, MiB, GiB, TiB, PiB or EiB, got 'XB'");
  for (const char* text : {"1 MiBs", "1iB", "12 34", "1e6", "3MiKB"}) {
    EXPECT_NE(BytesError(text).find("expected a unit"), std::string::npos) << text;
  }
}

TEST(ParseBytes, RefusesWhatDoesNotFit) {
  for (const char* text :
       {"16EiB", "18446744073709551616", "99999999999999999999999", "0.5", "1.0001KiB", "1.2.3",
        "0.0000000000000000000000000000000000000000000001EiB", "."}) {
    EXPECT_NE(BytesError(text).find("expected a whole number of bytes below 2^64"),
              std::string::npos)
        << text;
  }
}

TEST(FormatBytes, UsesTheLargestUnitThatDivides) {
  EXPECT_EQ(FormatBytes(0), "0");
  EXPECT_EQ(FormatBytes(1000), "1000");
  EXPECT_EQ(FormatBytes(1024), "1KiB");
  EXPECT_EQ(FormatBytes(uint64_t{64} << 20), "64MiB");
  EXPECT_EQ(FormatBytes(uint64_t{3} << 29), "1536MiB");
  EXPECT_EQ(FormatBytes(uint64_t{1} << 63), "8EiB");
}

TEST(FormatBytes, IsReadBackExactly) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 10000; ++i) {
    const uint64_t bytes = random() >> (random() % 64) << (random() % 64);
    EXPECT_EQ(Bytes(FormatBytes(bytes)), bytes);
  }
}

TEST(ParseSeconds, KnowsEveryUnit) {
  EXPECT_EQ(Seconds("10"), 10);
  EXPECT_EQ(Seconds("10s"), 10);
  EXPECT_EQ(Seconds("250ms"), 0.25);
  EXPECT_EQ(Seconds("100us"), 0.0001);
  EXPECT_EQ(Seconds("1ns"), 1e-9);
  EXPECT_EQ(Seconds("5min"), 300);
  EXPECT_EQ(Seconds("1.5 h"), 5400);
}

TEST(ParseSeconds, RefusesWhatIsNoDuration) {
  for (const char* text : {"", "s", "-1s", "1.2.3s", "nan", "inf", "1e400"}) {
    EXPECT_NE(SecondsError(text).find("expected"), std::string::npos) << text;
  }
  EXPECT_EQ(SecondsError("5 days"),
            "duration '5 days': expected a unit of ns, us, ms, s, min or h, got 'days'");
  EXPECT_NE(SecondsError("5m").find("got 'm'"), std::string::npos);
}

}  // namespace
}  // namespace kvdyno
