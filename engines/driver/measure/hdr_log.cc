// The HdrHistogram log and its V2 encoding. An HdrLog owns its file; one thread at a time.
//
// V2: a big-endian header of 40 bytes, then the counters from index 0 to the last used one, each
// as a ZigZag LEB128 number; a negative number -n stands for n counters of zero. Compressed: a
// cookie and a length, then the same through zlib.
#include "measure/hdr_log.h"

#include <zlib.h>

#include <bit>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <string_view>

namespace kvdyno {
namespace {

constexpr uint32_t kCookie = 0x1c849303 | 0x10;
constexpr uint32_t kCompressedCookie = 0x1c849304 | 0x10;
constexpr double kNsPerMs = 1e6;

void AppendBigEndian(uint64_t value, int bytes, std::string* out) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    out->push_back(static_cast<char>(value >> shift));
  }
}

// At most 9 bytes: the ninth carries 8 bits.
void AppendZigZag(int64_t signed_value, std::string* out) {
  uint64_t value =
      (static_cast<uint64_t>(signed_value) << 1) ^ static_cast<uint64_t>(signed_value >> 63);
  for (int i = 0; i < 8 && value >= 0x80; ++i) {
    out->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out->push_back(static_cast<char>(value));
}

std::string EncodeCounts(const Histogram& histogram) {
  std::string payload;
  int64_t zeros = 0;
  for (size_t i = 0; i < histogram.used_indices(); ++i) {
    const uint64_t count = histogram.count_at(i);
    if (count == 0) {
      ++zeros;
      continue;
    }
    if (zeros > 0) AppendZigZag(-zeros, &payload);
    zeros = 0;
    AppendZigZag(static_cast<int64_t>(count), &payload);
  }
  return payload;
}

std::string EncodeUncompressed(const Histogram& histogram) {
  const std::string payload = EncodeCounts(histogram);
  std::string out;
  AppendBigEndian(kCookie, 4, &out);
  AppendBigEndian(payload.size(), 4, &out);
  AppendBigEndian(0, 4, &out);  // normalizing index offset
  AppendBigEndian(Histogram::kSignificantDigits, 4, &out);
  AppendBigEndian(1, 8, &out);  // lowest discernible value
  AppendBigEndian(Histogram::kHighest, 8, &out);
  AppendBigEndian(std::bit_cast<uint64_t>(1.0), 8, &out);  // integer to double ratio
  return out + payload;
}

std::string Compress(std::string_view data) {
  uLongf size = compressBound(data.size());
  std::string out(size, '\0');
  const int result =
      compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                reinterpret_cast<const Bytef*>(data.data()), data.size(), Z_DEFAULT_COMPRESSION);
  assert(result == Z_OK);  // compressBound is room enough
  static_cast<void>(result);
  out.resize(size);
  return out;
}

std::string Base64(std::string_view data) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < data.size(); i += 3) {
    const std::string_view group = data.substr(i, 3);
    uint32_t bits = 0;
    for (size_t j = 0; j < 3; ++j) {
      bits = bits << 8 | (j < group.size() ? static_cast<unsigned char>(group[j]) : 0u);
    }
    for (size_t j = 0; j < 4; ++j) {
      out.push_back(j <= group.size() ? kDigits[bits >> (18 - 6 * j) & 63] : '=');
    }
  }
  return out;
}

std::string DateText(double unix_seconds) {
  const time_t seconds = static_cast<time_t>(unix_seconds);
  tm parts;
  gmtime_r(&seconds, &parts);
  char text[64];
  const size_t size = std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return std::string(text, size);
}

}  // namespace

std::string EncodeHistogram(const Histogram& histogram) {
  const std::string compressed = Compress(EncodeUncompressed(histogram));
  std::string out;
  AppendBigEndian(kCompressedCookie, 4, &out);
  AppendBigEndian(compressed.size(), 4, &out);
  return Base64(out + compressed);
}

Status HdrLog::Create(const std::string& path, double started_at, std::unique_ptr<HdrLog>* log) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return Status::IoError("create " + path + ": " + std::strerror(errno));
  log->reset(new HdrLog(path, file));
  std::fprintf(file,
               "#[Histogram log format version 1.3]\n"
               "#[StartTime: %.3f (seconds since epoch), %s]\n"
               "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\","
               "\"Interval_Compressed_Histogram\"\n",
               started_at, DateText(started_at).c_str());
  return (*log)->WriteError();
}

Status HdrLog::Append(const std::string& tag, double offset, double seconds,
                      const Histogram& histogram) {
  assert(tag.find_first_of(", \n") == std::string::npos);
  std::fprintf(file_.get(), "Tag=%s,%.3f,%.3f,%.3f,%s\n", tag.c_str(), offset, seconds,
               static_cast<double>(histogram.max()) / kNsPerMs, EncodeHistogram(histogram).c_str());
  return WriteError();
}

Status HdrLog::Close() {
  std::fflush(file_.get());
  Status status = WriteError();
  file_.reset();
  return status;
}

Status HdrLog::WriteError() const {
  if (std::ferror(file_.get()) == 0) return Status::Ok();
  return Status::IoError("write " + path_ + ": " + std::strerror(errno));
}

}  // namespace kvdyno
