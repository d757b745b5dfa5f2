#include "funk/format.h"

#include <charconv>
#include <cstdio>

#include "kvdyno/base/coding.h"
#include "kvdyno/base/crc32c.h"

namespace chunkstore {

using kvdyno::LoadFixed;
using kvdyno::Reader;

namespace {

constexpr std::string_view kNamePrefix = "segment-";
constexpr std::string_view kNameSuffix = ".seg";

// For bytes that were checked before.
const char* SkipVarint(const char* at, uint64_t* value) {
  uint64_t byte = static_cast<unsigned char>(*at++);
  if (byte < 0x80) {
    *value = byte;
    return at;
  }
  uint64_t result = byte & 0x7f;
  for (int shift = 7;; shift += 7) {
    byte = static_cast<unsigned char>(*at++);
    result |= (byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  *value = result;
  return at;
}

struct Head {
  std::string_view key;
  const char* value = nullptr;
  uint64_t value_length = 0;
  Version version = 0;
};

Head DecodeHead(const char* at) {
  Head head;
  uint64_t key_length = 0;
  at = SkipVarint(at + 1, &key_length);
  at = SkipVarint(at, &head.value_length);
  head.version = LoadFixed<uint64_t>(at);
  head.key = {at + sizeof(uint64_t), key_length};
  head.value = head.key.data() + key_length;
  return head;
}

// For a block of at least kBlockTrailerBytes; with kPlacedBlock in it.
uint32_t StoredCount(std::string_view block) {
  return LoadFixed<uint32_t>(block.data() + block.size() - kBlockTrailerBytes);
}

// Whether the bytes are one entry and nothing else.
bool IsEntry(std::string_view bytes) {
  if (bytes.empty()) return false;
  const auto type = static_cast<EntryType>(bytes.front());
  Reader reader(bytes.substr(1));
  uint64_t key_length = 0, value_length = 0, version = 0;
  std::string_view key, value;
  return (type == EntryType::kValue || type == EntryType::kDeletion) &&
         reader.Varint(&key_length) && reader.Varint(&value_length) && reader.Fixed(&version) &&
         reader.Bytes(key_length, &key) && reader.Bytes(value_length, &value) &&
         reader.rest().empty();
}

}  // namespace

std::string Mismatch(const char* what, uint64_t expected, uint64_t got) {
  return "expected " + std::string(what) + " " + std::to_string(expected) + ", got " +
         std::to_string(got);
}

std::string SegmentName(uint64_t number) {
  char name[40];
  std::snprintf(name, sizeof name, "segment-%06llu.seg", static_cast<unsigned long long>(number));
  return name;
}

bool ParseNumberIn(std::string_view name, std::string_view prefix, std::string_view suffix,
                   uint64_t* number) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return false;
  if (name.size() < prefix.size() + suffix.size()) return false;
  name.remove_prefix(prefix.size());
  name.remove_suffix(suffix.size());
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value);
  if (error != std::errc() || end != name.data() + name.size()) return false;
  *number = value;
  return true;
}

// One spelling per number, so that name and number stand for each other.
bool ParseSegmentName(std::string_view name, uint64_t* number) {
  uint64_t value = 0;
  if (!ParseNumberIn(name, kNamePrefix, kNameSuffix, &value)) return false;
  *number = value;
  return SegmentName(value) == name;
}

uint32_t PlaceChecksum(uint64_t offset) {
  char bytes[sizeof offset];
  kvdyno::StoreFixed(bytes, offset);
  return kvdyno::Crc32c({bytes, sizeof bytes});
}

BlockView::BlockView(std::string_view parsed)
    : data_(parsed.data()), count_(StoredCount(parsed) & ~kPlacedBlock) {
  offsets_ = parsed.data() + parsed.size() - kBlockTrailerBytes - count_ * sizeof(uint32_t);
}

std::string BlockView::Parse(std::string_view bytes, uint64_t offset, bool verify_checksum,
                             BlockView* view) {
  if (bytes.size() < kBlockTrailerBytes) {
    return Mismatch("block bytes of at least", kBlockTrailerBytes, bytes.size());
  }
  if (verify_checksum) {
    const bool placed = (StoredCount(bytes) & kPlacedBlock) != 0;
    const std::string_view covered = bytes.substr(0, bytes.size() - sizeof(uint32_t));
    const auto expected = LoadFixed<uint32_t>(covered.data() + covered.size());
    const uint32_t got = kvdyno::Crc32c(covered, placed ? PlaceChecksum(offset) : 0);
    if (got != expected) return Mismatch("crc32c", expected, got);
  }
  const uint32_t count = StoredCount(bytes) & ~kPlacedBlock;
  const size_t room = bytes.size() - kBlockTrailerBytes;
  if (count == 0 || count > room / sizeof(uint32_t)) {
    return Mismatch("entries from 1 to", room / sizeof(uint32_t), count);
  }
  const uint64_t end = room - uint64_t{count} * sizeof(uint32_t);
  const BlockView parsed(bytes);
  uint64_t from = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t at = LoadFixed<uint32_t>(parsed.offsets_ + i * sizeof(uint32_t));
    const uint64_t to =
        i + 1 == count ? end : LoadFixed<uint32_t>(parsed.offsets_ + (i + 1) * sizeof(uint32_t));
    if (at != from) return Mismatch("entry offset", from, at);
    if (to <= from || to > end || !IsEntry(bytes.substr(from, to - from))) {
      return "expected an entry of " + std::to_string(to - from) + " bytes at offset " +
             std::to_string(from) + " of the block, got something else";
    }
    from = to;
  }
  *view = parsed;
  return {};
}

const char* BlockView::EntryAt(uint32_t i) const {
  return data_ + LoadFixed<uint32_t>(offsets_ + i * sizeof(uint32_t));
}

Entry BlockView::at(uint32_t i) const {
  const char* at = EntryAt(i);
  const Head head = DecodeHead(at);
  return {head.key, {head.value, head.value_length}, head.version, static_cast<EntryType>(*at)};
}

uint32_t BlockView::LowerBound(std::string_view key, Version version) const {
  uint32_t from = 0;
  uint32_t count = count_;
  while (count > 0) {
    const uint32_t half = count / 2;
    const Head head = DecodeHead(EntryAt(from + half));
    if (Compare(head.key, head.version, key, version) < 0) {
      from += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return from;
}

size_t StoreEntryHead(char* to, const Entry& entry) {
  char* at = to;
  *at++ = static_cast<char>(entry.type);
  at = kvdyno::StoreVarint(at, entry.key.size());
  at = kvdyno::StoreVarint(at, entry.value.size());
  kvdyno::StoreFixed(at, entry.version);
  return static_cast<size_t>(at + sizeof(Version) - to);
}

}  // namespace chunkstore
