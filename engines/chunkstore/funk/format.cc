#include "funk/format.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstdio>
#include <limits>

#include "kvdyno/base/coding.h"
#include "kvdyno/base/crc32c.h"

namespace chunkstore {

using kvdyno::LoadFixed;
using kvdyno::Reader;

namespace {

constexpr std::string_view kNamePrefix = "segment-";
constexpr std::string_view kNameSuffix = ".seg";

std::string Mismatch(const char* what, uint64_t expected, uint64_t got) {
  return "expected " + std::string(what) + " " + std::to_string(expected) + ", got " +
         std::to_string(got);
}

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

// --- RunIndex

void RunIndex::Seal() {
  blocks.shrink_to_fit();
  keys.shrink_to_fit();
  key_ends.shrink_to_fit();
  words.Build(blocks.size(), [this](size_t i) { return first_key(i); });
}

size_t RunIndex::memory() const {
  return sizeof *this + blocks.capacity() * sizeof(BlockRef) + keys.capacity() +
         key_ends.capacity() * sizeof(uint32_t) + words.memory();
}

size_t RunIndex::Find(std::string_view key) const {
  auto [from, to] = words.Narrow(key);
  while (from < to) {  // to the first block whose first key is beyond the key
    const size_t middle = from + (to - from) / 2;
    if (first_key(middle) <= key) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  if (from == blocks.size() && key > last_key()) return from;
  size_t block = from == 0 ? 0 : from - 1;
  while (blocks[block].continues && first_key(block) == key) --block;
  return block;
}

// --- BlockView

BlockView::BlockView(std::string_view parsed)
    : data_(parsed.data()),
      count_(LoadFixed<uint32_t>(parsed.data() + parsed.size() - kBlockTrailerBytes)) {
  offsets_ = parsed.data() + parsed.size() - kBlockTrailerBytes - count_ * sizeof(uint32_t);
}

std::string BlockView::Parse(std::string_view bytes, bool verify_checksum, BlockView* view) {
  if (bytes.size() < kBlockTrailerBytes) {
    return Mismatch("block bytes of at least", kBlockTrailerBytes, bytes.size());
  }
  if (verify_checksum) {
    const std::string_view covered = bytes.substr(0, bytes.size() - sizeof(uint32_t));
    const auto expected = LoadFixed<uint32_t>(covered.data() + covered.size());
    const uint32_t got = kvdyno::Crc32c(covered);
    if (got != expected) return Mismatch("crc32c", expected, got);
  }
  const auto count = LoadFixed<uint32_t>(bytes.data() + bytes.size() - kBlockTrailerBytes);
  const size_t room = bytes.size() - kBlockTrailerBytes;
  if (count == 0 || count > room / sizeof(uint32_t)) {
    return Mismatch("entries from 1 to", room / sizeof(uint32_t), count);
  }
  const uint64_t end = room - uint64_t{count} * sizeof(uint32_t);
  const BlockView parsed(bytes);
  uint64_t from = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t offset = LoadFixed<uint32_t>(parsed.offsets_ + i * sizeof(uint32_t));
    const uint64_t to =
        i + 1 == count ? end : LoadFixed<uint32_t>(parsed.offsets_ + (i + 1) * sizeof(uint32_t));
    if (offset != from) return Mismatch("entry offset", from, offset);
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

// --- index and footer

std::string EncodeFooter(const RunFooter& footer) {
  std::string bytes;
  kvdyno::AppendFixed(&bytes, footer.index_offset);
  kvdyno::AppendFixed(&bytes, footer.index_length);
  kvdyno::AppendFixed(&bytes, footer.blocks);
  kvdyno::AppendFixed(&bytes, footer.entries);
  kvdyno::AppendFixed(&bytes, footer.index_checksum);
  kvdyno::AppendFixed(&bytes, kRunFormat);
  kvdyno::AppendFixed(&bytes, kvdyno::Crc32c(bytes));
  kvdyno::AppendFixed(&bytes, kRunMagic);
  assert(bytes.size() == kFooterBytes);
  return bytes;
}

Status DecodeFooter(std::string_view bytes, RunFooter* footer) {
  if (bytes.size() != kFooterBytes) {
    return Status::Corruption(Mismatch("footer bytes", kFooterBytes, bytes.size()));
  }
  Reader reader(bytes);
  uint32_t format = 0, checksum = 0, magic = 0;
  reader.Fixed(&footer->index_offset);
  reader.Fixed(&footer->index_length);
  reader.Fixed(&footer->blocks);
  reader.Fixed(&footer->entries);
  reader.Fixed(&footer->index_checksum);
  reader.Fixed(&format);
  reader.Fixed(&checksum);
  reader.Fixed(&magic);
  if (magic != kRunMagic) return Status::Corruption(Mismatch("footer magic", kRunMagic, magic));
  const uint32_t got = kvdyno::Crc32c(bytes.substr(0, kFooterBytes - 2 * sizeof(uint32_t)));
  if (got != checksum) return Status::Corruption(Mismatch("footer crc32c", checksum, got));
  if (format != kRunFormat) {
    return Status::Unsupported(Mismatch("run format version", kRunFormat, format));
  }
  return Status::Ok();
}

std::string EncodeRunIndex(const RunIndex& index) {
  std::string bytes;
  for (size_t i = 0; i < index.blocks.size(); ++i) {
    const BlockRef& block = index.blocks[i];
    kvdyno::AppendVarint(&bytes, block.offset);
    kvdyno::AppendVarint(&bytes, block.length);
    kvdyno::AppendVarint(&bytes, uint64_t{block.entries} * 2 + block.continues);
    kvdyno::AppendLengthPrefixed(&bytes, index.first_key(i));
  }
  kvdyno::AppendLengthPrefixed(&bytes, index.last_key());
  return bytes;
}

namespace {

void AppendKey(std::string_view key, RunIndex* index) {
  index->keys.append(key);
  index->key_ends.push_back(static_cast<uint32_t>(index->keys.size()));
}

// One block's part of the index; empty when it is fine.
std::string DecodeBlockRef(Reader* reader, uint64_t expected_offset, RunIndex* index) {
  uint64_t offset = 0, length = 0, entries = 0;
  std::string_view key;
  reader->Varint(&offset);
  reader->Varint(&length);
  reader->Varint(&entries);
  if (!reader->LengthPrefixed(&key)) return "expected a block's place and first key, got the end";
  if (offset != expected_offset) return Mismatch("block offset", expected_offset, offset);
  if (length <= kBlockTrailerBytes || length > std::numeric_limits<uint32_t>::max()) {
    return Mismatch("block length above", kBlockTrailerBytes, length);
  }
  if (entries < 2 || entries > std::numeric_limits<uint32_t>::max()) {
    return Mismatch("entries in a block of at least", 1, entries / 2);
  }
  const size_t block = index->blocks.size();
  const bool continues = entries % 2 != 0;
  // Versions of one key may fill blocks, and then several begin with it; but a block that begins
  // like the one before continues it.
  if (block == 0 ? continues
                 : key < index->first_key(block - 1) ||
                       (key == index->first_key(block - 1) && !continues)) {
    return "expected first keys in order, got block " + std::to_string(block) + " out of it";
  }
  BlockRef ref;
  ref.offset = offset;
  ref.length = static_cast<uint32_t>(length);
  ref.entries = static_cast<uint32_t>(entries / 2) & 0x7fffffff;
  ref.continues = continues ? 1 : 0;
  index->blocks.push_back(ref);
  AppendKey(key, index);
  return {};
}

}  // namespace

Status DecodeRunIndex(std::string_view footer_bytes, std::string_view bytes, RunIndex* result) {
  RunFooter footer;
  if (Status status = DecodeFooter(footer_bytes, &footer); !status.ok()) return status;
  const auto bad = [](const std::string& text) { return Status::Corruption(text); };
  if (bytes.size() != footer.index_length || bytes.size() > std::numeric_limits<uint32_t>::max()) {
    return bad(Mismatch("index bytes", footer.index_length, bytes.size()));
  }
  const uint32_t checksum = kvdyno::Crc32c(bytes);
  if (checksum != footer.index_checksum) {
    return bad(Mismatch("index crc32c", footer.index_checksum, checksum));
  }
  // A block takes four bytes of index at least, so a count beyond is no reason to allocate.
  if (footer.blocks == 0 || footer.blocks > bytes.size() / 4) {
    return bad(Mismatch("blocks from 1 to", bytes.size() / 4, footer.blocks));
  }
  *result = {};
  result->blocks.reserve(footer.blocks);
  result->key_ends.reserve(footer.blocks + 1);
  result->keys.reserve(bytes.size() - footer.blocks * 4);
  Reader reader(bytes);
  uint64_t offset = 0, entries = 0;
  for (uint64_t i = 0; i < footer.blocks; ++i) {
    if (const std::string problem = DecodeBlockRef(&reader, offset, result); !problem.empty()) {
      return bad(problem);
    }
    offset += result->blocks.back().length;
    entries += result->blocks.back().entries;
  }
  std::string_view last;
  if (!reader.LengthPrefixed(&last) || !reader.rest().empty()) {
    return bad("expected the last key at the end of the index, got something else");
  }
  if (last < result->first_key(result->blocks.size() - 1)) {
    return bad("expected the last key at or after the last block's first, got a smaller one");
  }
  if (offset != footer.index_offset)
    return bad(Mismatch("blocks' bytes", footer.index_offset, offset));
  if (entries != footer.entries) return bad(Mismatch("entries", footer.entries, entries));
  AppendKey(last, result);
  result->Seal();
  return Status::Ok();
}

}  // namespace chunkstore
