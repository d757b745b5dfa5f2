// Records and the operations in them; spilled payloads. Input: a record, whose checksum is put
// right on a second pass, so that what lies behind it is reached.
#include <string>

#include "kvdyno/base/crc32c.h"
#include "kvdyno/base/testing/fuzz.h"
#include "stage/record.h"
#include "stage/scan.h"

using namespace chunkstore;
using kvdyno::testing::Require;

namespace {

void Decode(std::string_view bytes) {
  Record record;
  (void)PeekVersion(bytes);
  Require(PeekSize(bytes) <= bytes.size(), "a peeked size within the bytes");
  if (!DecodeRecord(bytes, &record)) return;
  Require(record.size <= bytes.size() && record.size == RecordSize(record.payload.size()),
          "a record of its own size");
  SpillRef spill;
  (void)LoadSpillRef(record.payload, &spill);
  const bool well_formed = WellFormed(record.payload, record.count);
  std::string payload;
  uint32_t count = 0;
  OperationReader reader(record.payload, record.first);
  for (Entry entry; reader.Next(&entry); ++count) {
    Require(entry.version == record.first + count, "versions in a row");
    AppendOperation(&payload, entry.type, entry.key, entry.value);
  }
  if (!well_formed) return;
  std::string again(RecordSize(payload.size()), '\0');
  std::string_view stored;
  EncodeRecord(again.data(), record.first, count, record.flags, payload, &stored);
  Record decoded;
  Require(DecodeRecord(again, &decoded) && decoded.payload == payload && decoded.count == count,
          "an encoded record to decode to itself");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Decode(kvdyno::testing::View(data, size));
  if (size < kRecordHeaderBytes) return 0;
  std::string fixed(kvdyno::testing::View(data, size));
  fixed.resize(RecordSize(size - kRecordHeaderBytes));
  kvdyno::StoreFixed(fixed.data() + 4, static_cast<uint32_t>(size - kRecordHeaderBytes));
  kvdyno::StoreFixed(fixed.data(), kvdyno::Crc32c(std::string_view(fixed).substr(4)));
  Decode(fixed);
  return 0;
}
