// Layout of a ring file: a page with the header and checkpoint marks, then records.
//
//   0, 2048     header, twice: u64 magic · u32 format version · u32 crc32c of these ·
//               u64 sequence · u64 first version · u64 file size · u32 crc32c of all before
//   512, 1024   checkpoint marks, written in turn: u64 sequence · u64 last durable version ·
//               u32 crc32c of these
//   4096        records (stage/record.h), without gaps; the first that fails its checksum, or whose
//               version is not the one after its predecessor's, ends the stage
//
// The first header is durable before the stage is used, and only then is the second one written. So
// a power loss in the middle of either leaves the other, of this use or of the one before. Pure
// functions over bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "entry/entry.h"

namespace chunkstore {

inline constexpr uint32_t kRingFormat = 1;
inline constexpr size_t kRecordsAt = 4096;
inline constexpr std::array<size_t, 2> kHeadersAt = {0, 2048};
inline constexpr std::array<size_t, 2> kMarksAt = {512, 1024};

struct StageHeader {
  uint64_t sequence = 0;
  Version first = 0;
  uint64_t file_size = 0;
};

enum class HeaderState : uint8_t { kGood, kUnused, kUnreadable, kOtherFormat };

void StoreHeader(char* to, const StageHeader& header);
// kUnused: all zeros. *format is the format version found with kGood and kOtherFormat.
HeaderState LoadHeader(std::string_view page, size_t at, StageHeader* header, uint32_t* format);

void StoreMark(char* to, uint64_t sequence, Version last);
// The newest readable mark of this use: its version, and which of the two it is. 0: there is none.
Version LoadMarks(std::string_view page, uint64_t sequence, size_t* which);

}  // namespace chunkstore
