// Histogram and its log encoding against exact answers and an independent decoder.
#include "measure/histogram.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include "kvdyno/base/random.h"
#include "measure/hdr_log.h"

namespace kvdyno {
namespace {

// Values over nine decades, as latencies are.
std::vector<uint64_t> SomeValues(size_t count, uint64_t seed) {
  Random random(seed);
  std::vector<uint64_t> values;
  for (size_t i = 0; i < count; ++i) {
    values.push_back(static_cast<uint64_t>(std::pow(10, 9 * random.Real())));
  }
  return values;
}

TEST(Histogram, BucketsCoverAllValuesWithoutGap) {
  EXPECT_EQ(Histogram::Lowest(0), 0u);
  const size_t end = Histogram::Index(Histogram::kHighest);
  for (size_t i = 0; i <= end; ++i) {
    ASSERT_EQ(Histogram::Index(Histogram::Lowest(i)), i);
    ASSERT_EQ(Histogram::Index(Histogram::Highest(i)), i);
    ASSERT_EQ(Histogram::Highest(i) + 1, Histogram::Lowest(i + 1));
    const double width = static_cast<double>(Histogram::Highest(i) - Histogram::Lowest(i));
    ASSERT_LE(width, static_cast<double>(Histogram::Lowest(i)) / 1000) << "3 significant digits";
  }
}

TEST(Histogram, PercentilesAreExactToThreeDigits) {
  std::vector<uint64_t> values = SomeValues(10'001, 7);
  Histogram histogram;
  for (const uint64_t value : values) histogram.Record(value);
  std::sort(values.begin(), values.end());
  for (const double percentile : {0.0, 1.0, 50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 100.0}) {
    const double wanted = percentile / 100 * static_cast<double>(values.size()) + 0.5;
    const size_t rank = std::max<size_t>(1, static_cast<size_t>(wanted));
    const uint64_t exact = values[std::min(rank, values.size()) - 1];
    EXPECT_GE(histogram.Percentile(percentile), exact) << percentile;
    EXPECT_LE(static_cast<double>(histogram.Percentile(percentile)),
              static_cast<double>(exact) * 1.001)
        << percentile;
  }
  EXPECT_EQ(histogram.min(), values.front());
  EXPECT_EQ(histogram.max(), values.back());
  double sum = 0;
  for (const uint64_t value : values) sum += static_cast<double>(value);
  EXPECT_DOUBLE_EQ(histogram.mean(), sum / static_cast<double>(values.size()));
}

TEST(Histogram, MergingIsRecordingTogether) {
  Histogram left, right, both;
  for (const uint64_t value : SomeValues(1000, 1)) left.Record(value), both.Record(value);
  for (const uint64_t value : SomeValues(500, 2)) right.Record(value / 7), both.Record(value / 7);
  left.Merge(right);
  left.Merge(Histogram());
  EXPECT_EQ(EncodeHistogram(left), EncodeHistogram(both));
  EXPECT_EQ(left.count(), 1500u);
  EXPECT_EQ(left.min(), both.min());
  EXPECT_EQ(left.max(), both.max());
  EXPECT_EQ(left.mean(), both.mean());
}

TEST(Histogram, ResetForgetsEverything) {
  Histogram histogram;
  for (const uint64_t value : SomeValues(100, 3)) histogram.Record(value);
  histogram.Reset();
  EXPECT_EQ(EncodeHistogram(histogram), EncodeHistogram(Histogram()));
  EXPECT_EQ(histogram.Percentile(99), 0u);
  histogram.Record(5);
  EXPECT_EQ(histogram.min(), 5u);
  EXPECT_EQ(histogram.max(), 5u);
}

TEST(Histogram, CountsLongerThanAnHourAsAnHour) {
  Histogram histogram;
  histogram.Record(UINT64_MAX);
  EXPECT_EQ(histogram.max(), Histogram::kHighest);
  EXPECT_GE(histogram.Percentile(50), Histogram::kHighest);
}

// The decoder knows the format's description only: nothing of the encoder's code.
std::string DecodeBase64(const std::string& text) {
  std::string out;
  uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    if (c == '=') break;
    const uint32_t digit = c >= 'A' && c <= 'Z'   ? c - 'A'
                           : c >= 'a' && c <= 'z' ? c - 'a' + 26
                           : c >= '0' && c <= '9' ? c - '0' + 52
                           : c == '+'             ? 62
                                                  : 63;
    bits = bits << 6 | digit;
    held += 6;
    if (held >= 8) {
      held -= 8;
      out.push_back(static_cast<char>(bits >> held));
    }
  }
  return out;
}

uint64_t BigEndian(const std::string& data, size_t at, size_t size) {
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i)
    value = value << 8 | static_cast<unsigned char>(data.at(at + i));
  return value;
}

// Index to count.
std::map<size_t, uint64_t> Decode(const std::string& encoded) {
  const std::string outer = DecodeBase64(encoded);
  EXPECT_EQ(BigEndian(outer, 0, 4) & ~0xf0u, 0x1c849304u);
  EXPECT_EQ(BigEndian(outer, 4, 4), outer.size() - 8);
  std::string data(1 << 20, '\0');
  uLongf size = data.size();
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(data.data()), &size,
                       reinterpret_cast<const Bytef*>(outer.data() + 8), outer.size() - 8),
            Z_OK);
  data.resize(size);
  EXPECT_EQ(BigEndian(data, 0, 4) & ~0xf0u, 0x1c849303u);
  EXPECT_EQ(BigEndian(data, 4, 4), data.size() - 40);
  EXPECT_EQ(BigEndian(data, 12, 4), 3u);
  EXPECT_EQ(BigEndian(data, 24, 8), Histogram::kHighest);

  std::map<size_t, uint64_t> counts;
  size_t index = 0;
  for (size_t at = 40; at < data.size();) {
    uint64_t value = 0;
    for (int i = 0;; ++i) {
      const uint64_t byte = static_cast<unsigned char>(data[at++]);
      if (i == 8) {
        value |= byte << 56;
        break;
      }
      value |= (byte & 0x7f) << (7 * i);
      if (byte < 0x80) break;
    }
    const auto number = static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1));
    if (number < 0) {
      index += static_cast<size_t>(-number);
    } else {
      counts[index++] = static_cast<uint64_t>(number);
    }
  }
  return counts;
}

TEST(HdrLog, EncodingKeepsEveryCount) {
  Histogram histogram;
  std::map<size_t, uint64_t> expected;
  for (const uint64_t value : SomeValues(5000, 4)) {
    histogram.Record(value);
    ++expected[Histogram::Index(value)];
  }
  for (int i = 0; i < 100'000; ++i) histogram.Record(42);  // a count of more than one byte
  expected[Histogram::Index(42)] += 100'000;
  EXPECT_EQ(Decode(EncodeHistogram(histogram)), expected);
}

TEST(HdrLog, WritesALinePerHistogram) {
  const std::string path = testing::TempDir() + "/kvdyno_test.hlog";
  std::unique_ptr<HdrLog> log;
  ASSERT_TRUE(HdrLog::Create(path, 1000.5, &log).ok());
  Histogram histogram;
  histogram.Record(2'000'000);
  ASSERT_TRUE(log->Append("measure.read", 1.25, 2, histogram).ok());
  ASSERT_TRUE(log->Close().ok());

  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  std::filesystem::remove(path);
  EXPECT_NE(text.str().find("#[Histogram log format version 1.3]\n#[StartTime: 1000.500 "),
            std::string::npos);
  EXPECT_NE(text.str().find("\nTag=measure.read,1.250,2.000,2.000,HIST"), std::string::npos);
}

TEST(HdrLog, ReportsAFileThatCannotBeMade) {
  std::unique_ptr<HdrLog> log;
  const Status status = HdrLog::Create("/nowhere/x.hlog", 0, &log);
  EXPECT_EQ(status.code(), Code::kIoError);
  EXPECT_NE(status.message().find("/nowhere/x.hlog"), std::string::npos);
}

}  // namespace
}  // namespace kvdyno
