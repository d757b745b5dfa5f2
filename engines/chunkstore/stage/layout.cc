#include "stage/layout.h"

#include <algorithm>

#include "kvdyno/base/coding.h"
#include "kvdyno/base/crc32c.h"

namespace chunkstore {

using kvdyno::LoadFixed;
using kvdyno::StoreFixed;

namespace {

constexpr uint64_t kRingMagic = 0x676e695265726f74;  // "toreRing"
constexpr size_t kPreamble = 12;                     // magic and format version
constexpr size_t kHeaderBody = 40;
constexpr size_t kHeaderBytes = kHeaderBody + 4;
constexpr size_t kMarkBody = 16;
constexpr size_t kMarkBytes = kMarkBody + 4;
static_assert(kMarksAt[0] >= kHeadersAt[0] + kHeaderBytes &&
              kMarksAt[1] >= kMarksAt[0] + kMarkBytes);
static_assert(kHeadersAt[1] >= kMarksAt[1] + kMarkBytes &&
              kRecordsAt >= kHeadersAt[1] + kHeaderBytes);

bool ChecksumAt(std::string_view bytes, size_t end) {
  return kvdyno::Crc32c(bytes.substr(0, end)) == LoadFixed<uint32_t>(bytes.data() + end);
}

}  // namespace

void StoreHeader(char* to, const StageHeader& header) {
  StoreFixed(to, kRingMagic);
  StoreFixed(to + 8, kRingFormat);
  StoreFixed(to + kPreamble, kvdyno::Crc32c({to, kPreamble}));
  StoreFixed(to + 16, header.sequence);
  StoreFixed(to + 24, header.first);
  StoreFixed(to + 32, header.file_size);
  StoreFixed(to + kHeaderBody, kvdyno::Crc32c({to, kHeaderBody}));
}

HeaderState LoadHeader(std::string_view page, size_t at, StageHeader* header, uint32_t* format) {
  if (page.size() < at + kHeaderBytes) return HeaderState::kUnreadable;
  const std::string_view bytes = page.substr(at, kHeaderBytes);
  if (std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == 0; })) {
    return HeaderState::kUnused;
  }
  if (LoadFixed<uint64_t>(bytes.data()) != kRingMagic || !ChecksumAt(bytes, kPreamble)) {
    return HeaderState::kUnreadable;
  }
  *format = LoadFixed<uint32_t>(bytes.data() + 8);
  if (*format != kRingFormat) return HeaderState::kOtherFormat;
  if (!ChecksumAt(bytes, kHeaderBody)) return HeaderState::kUnreadable;
  header->sequence = LoadFixed<uint64_t>(bytes.data() + 16);
  header->first = LoadFixed<Version>(bytes.data() + 24);
  header->file_size = LoadFixed<uint64_t>(bytes.data() + 32);
  return HeaderState::kGood;
}

void StoreMark(char* to, uint64_t sequence, Version last) {
  StoreFixed(to, sequence);
  StoreFixed(to + 8, last);
  StoreFixed(to + kMarkBody, kvdyno::Crc32c({to, kMarkBody}));
}

Version LoadMarks(std::string_view page, uint64_t sequence, size_t* which) {
  Version newest = 0;
  for (size_t i = 0; i < kMarksAt.size(); ++i) {
    if (page.size() < kMarksAt[i] + kMarkBytes) continue;
    const std::string_view bytes = page.substr(kMarksAt[i], kMarkBytes);
    if (!ChecksumAt(bytes, kMarkBody) || LoadFixed<uint64_t>(bytes.data()) != sequence) continue;
    const auto last = LoadFixed<Version>(bytes.data() + 8);
    if (last > newest) {
      newest = last;
      *which = i;
    }
  }
  return newest;
}

}  // namespace chunkstore
