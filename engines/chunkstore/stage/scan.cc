#include "stage/scan.h"

#include <algorithm>

#include "hooks/seeded_bugs.h"

namespace chunkstore {

// Why old records are not mistaken for new ones, though a stage is reused without being zeroed:
// versions only grow, over all stages and epochs. Everything that earlier uses left in the file has
// a version below the header's first one, and the first record taken has exactly that version, each
// further one the next of the same epoch. What this very use wrote behind a gap (a power loss may
// keep later pages and lose earlier ones) is never reached: a recovered stage is not appended to,
// so the gap is not filled, and writes after recovery belong to a new epoch.

Version EpochLimit(const std::vector<EpochEnd>& epochs, uint64_t epoch) {
  for (const EpochEnd& end : epochs) {
    if (end.epoch == epoch) return end.last;
  }
  return kNewest;
}

HeaderScan ScanHeaders(std::string_view page) {
  HeaderScan result;
  StageHeader header[2];
  HeaderState state[2];
  for (size_t i = 0; i < 2; ++i) {
    state[i] = LoadHeader(page, kHeadersAt[i], &header[i], &result.format);
    if (state[i] == HeaderState::kOtherFormat) {
      result.state = HeaderState::kOtherFormat;
      return result;
    }
  }
  const bool good[2] = {state[0] == HeaderState::kGood, state[1] == HeaderState::kGood};
  if (good[0] || good[1]) {
    result.state = HeaderState::kGood;
    result.header =
        header[!good[0] || (good[1] && header[1].sequence > header[0].sequence) ? 1 : 0];
    result.doubtful = !good[0] || !good[1] || header[0].sequence != header[1].sequence;
    return result;
  }
  // The second header unused: the first was torn when the file was to be used for the first time.
  result.state = state[1];
  result.doubtful = state[0] != HeaderState::kUnused;
  return result;
}

bool HoldsNewerUse(std::string_view file, const HeaderScan& headers) {
  const std::string_view records = file.substr(std::min(file.size(), kRecordsAt));
  Record record;
  if (headers.state == HeaderState::kGood) {
    return DecodeRecord(records, &record) && record.first > headers.header.first;
  }
  for (size_t at = 0; at + kRecordHeaderBytes <= records.size(); at += 8) {
    if (DecodeRecord(records.substr(at), &record)) return true;
  }
  return false;
}

bool NextRecord(std::string_view file, size_t at, Record* record) {
  if (at >= file.size()) return false;
  const std::string_view rest = file.substr(at);
  if (DecodeRecord(rest, record)) return true;
  if (!Seeded(Bug::kAcceptsTornRecord) || rest.size() < kRecordHeaderBytes) return false;
  record->first = PeekVersion(rest);
  record->size = PeekSize(rest);
  kvdyno::Reader fields(rest.substr(0, kRecordHeaderBytes));
  uint32_t checksum = 0, length = 0;
  uint64_t version = 0;
  (void)(fields.Fixed(&checksum) && fields.Fixed(&length) && fields.Fixed(&version) &&
         fields.Fixed(&record->count) && fields.Fixed(&record->flags));
  if (record->count == 0 || RecordSize(length) != record->size) return false;
  record->payload = rest.substr(kRecordHeaderBytes, length);
  return true;
}

namespace {

// The header at the front may have lost nothing but its version, to a flipped bit. Without any, the
// process died before it had written the record.
bool WholeButForVersion(std::string_view rest, Version version) {
  if (PeekVersion(rest) == 0) return false;
  std::string copy(rest.substr(0, PeekSize(rest)));
  kvdyno::StoreFixed(copy.data() + 8, version);
  Record record;
  return DecodeRecord(copy, &record);
}

size_t LostBytes(std::string_view file, size_t end, Version next, Version limit) {
  if (next > limit || end >= file.size()) return 0;
  const std::string_view rest = file.substr(end);
  size_t lost = 0;
  // No operation takes less than a byte, so versions behind the gap are not far above `next`.
  const uint64_t span = std::min<uint64_t>(rest.size(), limit - next);
  for (size_t at = 8; at + kRecordHeaderBytes <= rest.size();) {
    const std::string_view here = rest.substr(at);
    Record record;
    const bool later = PeekVersion(here) - next - 1 < span && DecodeRecord(here, &record);
    at += later ? record.size : 8;
    if (later) lost = at;
  }
  if (lost > 0) return lost;
  // A damaged record alone takes what its header holds, right or wrong.
  return PeekVersion(rest) == next || WholeButForVersion(rest, next) ? PeekSize(rest) : 0;
}

}  // namespace

RecordScan ScanRecords(std::string_view file, const StageHeader& header, Version limit) {
  RecordScan result;
  result.last = header.first - 1;
  Record record;
  while (NextRecord(file, result.end, &record) && record.first == result.last + 1) {
    const Version last = result.last + record.count;
    if (last > limit || EpochOf(last) != EpochOf(header.first)) break;
    result.last = last;
    result.end += record.size;
  }
  result.lost_bytes = LostBytes(file, result.end, result.last + 1, limit);
  return result;
}

bool WellFormed(std::string_view payload, uint32_t count) {
  OperationReader reader(payload, 0);
  Entry entry;
  uint64_t operations = 0;
  while (reader.Next(&entry)) ++operations;
  return !reader.malformed() && operations == count;
}

}  // namespace chunkstore
