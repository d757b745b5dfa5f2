// A stage's file: headers, marks, records. Input: 1 byte of choices, two headers of 44 bytes, two
// marks of 20, then records; with choice 1 all checksums are put right, so that contents decide.
#include <array>
#include <string>

#include "kvdyno/base/crc32c.h"
#include "kvdyno/base/testing/fuzz.h"
#include "stage/layout.h"
#include "stage/scan.h"

using namespace chunkstore;
using kvdyno::testing::Require;

namespace {

constexpr size_t kHeaderBytes = 44, kMarkBytes = 20;

void FixChecksum(char* at, size_t covered) {
  kvdyno::StoreFixed(at + covered, kvdyno::Crc32c({at, covered}));
}

void FixRecords(std::string* file) {
  for (size_t at = kRecordsAt; at + kRecordHeaderBytes <= file->size();) {
    const size_t size = PeekSize(std::string_view(*file).substr(at));
    kvdyno::StoreFixed(file->data() + at,
                       kvdyno::Crc32c(std::string_view(*file).substr(at + 4, size - 4)));
    at += size;
  }
}

std::string Assemble(std::string_view input, bool fix) {
  std::string file(kRecordsAt, '\0');
  const auto take = [&](size_t at, size_t length) {
    const std::string_view part = input.substr(0, length);
    file.replace(at, part.size(), part);
    input.remove_prefix(part.size());
  };
  for (const size_t at : kHeadersAt) take(at, kHeaderBytes);
  for (const size_t at : kMarksAt) take(at, kMarkBytes);
  file += input;
  if (!fix) return file;
  for (const size_t at : kHeadersAt) {
    FixChecksum(file.data() + at, 12);
    FixChecksum(file.data() + at, kHeaderBytes - 4);
  }
  for (const size_t at : kMarksAt) FixChecksum(file.data() + at, kMarkBytes - 4);
  FixRecords(&file);
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string file = Assemble(kvdyno::testing::View(data + 1, size - 1), (data[0] & 1) != 0);
  const HeaderScan headers = ScanHeaders(file);
  if (headers.state != HeaderState::kGood) return 0;
  (void)HoldsNewerUse(file, headers);
  size_t which = 0;
  (void)LoadMarks(file, headers.header.sequence, &which);
  const Version limit = (data[0] & 2) != 0 ? headers.header.first + 3 : kNewest;
  const RecordScan scan = ScanRecords(file, headers.header, limit);
  Require(scan.end >= kRecordsAt && scan.end <= file.size(), "records that end within the file");
  Require(scan.end + scan.lost_bytes <= file.size(), "lost bytes within the file");
  Record record;
  for (size_t at = kRecordsAt; at < scan.end; at += record.size) {
    Require(NextRecord(file, at, &record), "accepted records to decode");
    (void)WellFormed(record.payload, record.count);
  }
  return 0;
}
