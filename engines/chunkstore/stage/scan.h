// Scan: what is left of a stage in the bytes of its file, after whatever happened to them.
// Decides nothing about damage: finds where the valid prefix ends and what lies behind it.
// Pure functions over bytes, safe on any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "entry/entry.h"
#include "stage/layout.h"
#include "stage/record.h"

namespace chunkstore {

// An epoch that ended without a clean close: of its versions only those up to `last` are valid.
struct EpochEnd {
  uint64_t epoch = 0;
  Version last = 0;
};
// The last version of the epoch that is valid; kNewest when nothing limits it.
Version EpochLimit(const std::vector<EpochEnd>& epochs, uint64_t epoch);

struct HeaderScan {
  HeaderState state = HeaderState::kUnused;  // of the file; kUnused: never, or not yet, in use
  StageHeader header;
  uint32_t format = 0;
  bool doubtful = false;  // only one header could be read, or they differ: see HoldsNewerUse
};
HeaderScan ScanHeaders(std::string_view page);
// A header was lost if the first record is whole and newer than the other header, or if
// there is no header and any record is whole: no record is written before its header is durable.
bool HoldsNewerUse(std::string_view file, const HeaderScan& headers);

struct RecordScan {
  size_t end = kRecordsAt;  // of the valid prefix, as an offset in the file
  Version last = 0;         // header's first version - 1 when there is no record
  // Written data behind the prefix that is lost: a record whose version is the next one but whose
  // checksum is wrong, and whole records of later versions.
  size_t lost_bytes = 0;
};
// Takes no version above `limit`, nor counts it as lost.
RecordScan ScanRecords(std::string_view file, const StageHeader& header, Version limit);

// One record of a valid prefix: decodes what ScanRecords has accepted.
bool NextRecord(std::string_view file, size_t at, Record* record);
// True when the payload holds `count` well-formed operations and nothing else.
bool WellFormed(std::string_view payload, uint32_t count);

}  // namespace chunkstore
