// Record: what one write adds to a stage, and the operations inside.
//
//   u32 crc32c of all that follows · u32 payload length · u64 version of the first operation ·
//   u32 operations · u32 flags · payload, padded with zeros to 8 bytes
//   payload = operations, each: u8 EntryType · varint key length · [varint value length] ·
//             key · [value]
//
// Operation i has version `first + i`. With kSpilled the payload is 8 bytes of file number, 8 of
// length and 4 of crc32c: the operations are in the file spill-<number>. The checksum covers the
// version and the padding too, so that a record of which a power loss kept only some pages is seen
// as torn. Pure functions over bytes; every decoder is safe on any bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "entry/entry.h"
#include "kvdyno/base/coding.h"

namespace chunkstore {

inline constexpr size_t kRecordHeaderBytes = 24;
inline constexpr uint32_t kSpilled = 1;

struct Record {
  Version first = 0;
  uint32_t count = 0;
  uint32_t flags = 0;
  std::string_view payload;
  size_t size = 0;  // in the stage: header, payload and padding
};

size_t RecordSize(size_t payload_bytes);
// Writes header, payload and padding at `to`, which has RecordSize() bytes; *stored is the payload
// there. First of all the place has no version, and the record gets its own last: a process that dies
// on the way leaves no record there, a power loss may.
void EncodeRecord(char* to, Version first, uint32_t count, uint32_t flags, std::string_view payload,
                  std::string_view* stored);
// False when the bytes do not begin with a whole record of the right checksum.
bool DecodeRecord(std::string_view bytes, Record* record);
// The version in a header, whether or not it is one; 0 when the bytes are too few.
Version PeekVersion(std::string_view bytes);
// The record's size by its header, within the bytes there are.
size_t PeekSize(std::string_view bytes);

// A spilled record's payload.
struct SpillRef {
  uint64_t number = 0;
  uint64_t length = 0;
  uint32_t crc = 0;
};
inline constexpr size_t kSpillRefBytes = 20;
void StoreSpillRef(char* to, const SpillRef& ref);
bool LoadSpillRef(std::string_view payload, SpillRef* ref);
std::string SpillName(uint64_t number);  // "spill-00010000000000ff"
bool ParseSpillName(std::string_view name, uint64_t* number);

void AppendOperation(std::string* payload, EntryType type, std::string_view key,
                     std::string_view value);
// The upper bound of one operation's bytes, for buffers on the stack.
size_t OperationBytes(std::string_view key, std::string_view value);
char* StoreOperation(char* to, EntryType type, std::string_view key, std::string_view value);

// Walks the operations of a payload. `entry.version` is set by the walker.
class OperationReader {
 public:
  OperationReader(std::string_view payload, Version first) : reader_(payload), version_(first) {}
  // False at the end and at malformed bytes; malformed() distinguishes them.
  bool Next(Entry* entry);
  bool malformed() const { return malformed_; }

 private:
  kvdyno::Reader reader_;
  Version version_;
  bool malformed_ = false;
};

}  // namespace chunkstore
