#include "stage/record.h"

#include <atomic>
#include <cassert>
#include <cstring>

#include "kvdyno/base/crc32c.h"

namespace chunkstore {

using kvdyno::LoadFixed;
using kvdyno::StoreFixed;

namespace {

// Offsets in the header.
constexpr size_t kChecksum = 0, kLength = 4, kVersion = 8, kCount = 16, kFlags = 20;
static_assert(kFlags + 4 == kRecordHeaderBytes);

constexpr std::string_view kSpillPrefix = "spill-";
constexpr size_t kSpillDigits = 16;

}  // namespace

size_t RecordSize(size_t payload_bytes) {
  return kRecordHeaderBytes + ((payload_bytes + 7) & ~size_t{7});
}

void EncodeRecord(char* to, Version first, uint32_t count, uint32_t flags, std::string_view payload,
                  std::string_view* stored) {
  // What a dying process leaves behind is its stores in their order: until the record is whole it has
  // no version, whatever lay here before.
  StoreFixed(to + kVersion, Version{0});
  std::atomic_signal_fence(std::memory_order_release);
  char* body = to + kRecordHeaderBytes;
  const size_t padded = RecordSize(payload.size()) - kRecordHeaderBytes;
  if (padded > 0) {
    std::memset(body + padded - 8, 0, 8);
    std::memcpy(body, payload.data(), payload.size());
  }
  char header[kRecordHeaderBytes];
  StoreFixed(header + kLength, static_cast<uint32_t>(payload.size()));
  StoreFixed(header + kVersion, first);
  StoreFixed(header + kCount, count);
  StoreFixed(header + kFlags, flags);
  const std::string_view fields(header + kLength, kRecordHeaderBytes - kLength);
  StoreFixed(header + kChecksum, kvdyno::Crc32c({body, padded}, kvdyno::Crc32c(fields)));
  std::memcpy(to, header, kVersion);
  std::memcpy(to + kCount, header + kCount, kRecordHeaderBytes - kCount);
  std::atomic_signal_fence(std::memory_order_release);
  StoreFixed(to + kVersion, first);
  *stored = {body, payload.size()};
}

bool DecodeRecord(std::string_view bytes, Record* record) {
  if (bytes.size() < kRecordHeaderBytes) return false;
  const auto length = LoadFixed<uint32_t>(bytes.data() + kLength);
  const size_t size = RecordSize(length);
  if (size > bytes.size()) return false;
  record->count = LoadFixed<uint32_t>(bytes.data() + kCount);
  record->flags = LoadFixed<uint32_t>(bytes.data() + kFlags);
  // Before the checksum: who looks for records in damaged bytes meets many wrong lengths.
  if (record->count == 0 || (record->flags & ~kSpilled) != 0) return false;
  const auto checksum = LoadFixed<uint32_t>(bytes.data() + kChecksum);
  if (kvdyno::Crc32c(bytes.substr(kLength, size - kLength)) != checksum) return false;
  record->first = LoadFixed<Version>(bytes.data() + kVersion);
  record->payload = bytes.substr(kRecordHeaderBytes, length);
  record->size = size;
  return true;
}

Version PeekVersion(std::string_view bytes) {
  return bytes.size() < kRecordHeaderBytes ? 0 : LoadFixed<Version>(bytes.data() + kVersion);
}

size_t PeekSize(std::string_view bytes) {
  if (bytes.size() < kRecordHeaderBytes) return bytes.size();
  const size_t size = RecordSize(LoadFixed<uint32_t>(bytes.data() + kLength));
  return size < bytes.size() ? size : bytes.size();
}

void StoreSpillRef(char* to, const SpillRef& ref) {
  StoreFixed(to, ref.number);
  StoreFixed(to + 8, ref.length);
  StoreFixed(to + 16, ref.crc);
}

bool LoadSpillRef(std::string_view payload, SpillRef* ref) {
  kvdyno::Reader reader(payload);
  return reader.Fixed(&ref->number) && reader.Fixed(&ref->length) && reader.Fixed(&ref->crc) &&
         reader.rest().empty();
}

std::string SpillName(uint64_t number) {
  std::string name(kSpillPrefix);
  for (int shift = 60; shift >= 0; shift -= 4) name += "0123456789abcdef"[number >> shift & 15];
  return name;
}

bool ParseSpillName(std::string_view name, uint64_t* number) {
  if (name.size() != kSpillPrefix.size() + kSpillDigits || !name.starts_with(kSpillPrefix)) {
    return false;
  }
  *number = 0;
  for (const char c : name.substr(kSpillPrefix.size())) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit && !(c >= 'a' && c <= 'f')) return false;
    *number = *number << 4 | static_cast<uint64_t>(digit ? c - '0' : c - 'a' + 10);
  }
  return true;
}

size_t OperationBytes(std::string_view key, std::string_view value) {
  return 1 + size_t{2} * kvdyno::kMaxVarintBytes + key.size() + value.size();
}

char* StoreOperation(char* to, EntryType type, std::string_view key, std::string_view value) {
  assert(type == EntryType::kValue || value.empty());
  *to++ = static_cast<char>(type);
  to = kvdyno::StoreVarint(to, key.size());
  if (type == EntryType::kValue) to = kvdyno::StoreVarint(to, value.size());
  if (!key.empty()) std::memcpy(to, key.data(), key.size());
  to += key.size();
  if (!value.empty()) std::memcpy(to, value.data(), value.size());
  return to + value.size();
}

void AppendOperation(std::string* payload, EntryType type, std::string_view key,
                     std::string_view value) {
  payload->push_back(static_cast<char>(type));
  kvdyno::AppendVarint(payload, key.size());
  if (type == EntryType::kValue) kvdyno::AppendVarint(payload, value.size());
  payload->append(key);
  payload->append(value);
}

bool OperationReader::Next(Entry* entry) {
  if (malformed_ || reader_.rest().empty()) return false;
  uint8_t type = 0;
  uint64_t key_length = 0, value_length = 0;
  bool good = reader_.Fixed(&type) && reader_.Varint(&key_length);
  good =
      good && (type == static_cast<uint8_t>(EntryType::kDeletion) ||
               (type == static_cast<uint8_t>(EntryType::kValue) && reader_.Varint(&value_length)));
  good =
      good && reader_.Bytes(key_length, &entry->key) && reader_.Bytes(value_length, &entry->value);
  if (!good) {
    malformed_ = true;
    return false;
  }
  entry->type = static_cast<EntryType>(type);
  entry->version = version_++;
  return true;
}

}  // namespace chunkstore
