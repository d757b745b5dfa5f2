#include <algorithm>
#include <cassert>
#include <limits>

#include "funk/format.h"
#include "kvdyno/base/coding.h"
#include "kvdyno/base/crc32c.h"

namespace chunkstore {

using kvdyno::Reader;

void SortedRunIndex::Seal() {
  blocks.shrink_to_fit();
  keys.shrink_to_fit();
  key_ends.shrink_to_fit();
  words.Build(blocks.size(), [this](size_t i) { return first_key(i); });
}

size_t SortedRunIndex::memory() const {
  return sizeof *this + blocks.capacity() * sizeof(BlockRef) + keys.capacity() +
         key_ends.capacity() * sizeof(uint32_t) + words.memory() + filter.memory();
}

size_t SortedRunIndex::Find(std::string_view key) const {
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

// --- footer

std::string EncodeFooter(const SortedRunFooter& footer) {
  std::string bytes;
  kvdyno::AppendFixed(&bytes, footer.index_offset);
  kvdyno::AppendFixed(&bytes, footer.index_length);
  kvdyno::AppendFixed(&bytes, footer.filter_length);
  kvdyno::AppendFixed(&bytes, footer.blocks);
  kvdyno::AppendFixed(&bytes, footer.entries);
  kvdyno::AppendFixed(&bytes, footer.index_checksum);
  kvdyno::AppendFixed(&bytes, kRunFormat);
  kvdyno::AppendFixed(&bytes, kvdyno::Crc32c(bytes));
  kvdyno::AppendFixed(&bytes, kRunMagic);
  assert(bytes.size() == kFooterBytes);
  return bytes;
}

Status DecodeFooter(std::string_view end, SortedRunFooter* footer) {
  if (end.size() < kLeastFooterBytes) {
    return Status::Corruption(Mismatch("footer bytes of at least", kLeastFooterBytes, end.size()));
  }
  uint32_t format = 0, checksum = 0, magic = 0;
  Reader last(end.substr(end.size() - 3 * sizeof(uint32_t)));
  last.Fixed(&format);
  last.Fixed(&checksum);
  last.Fixed(&magic);
  if (magic != kRunMagic) return Status::Corruption(Mismatch("footer magic", kRunMagic, magic));
  *footer = {};
  if (format == 1) footer->length = kLeastFooterBytes;
  if (end.size() < footer->length) {
    return Status::Corruption(Mismatch("footer bytes of at least", footer->length, end.size()));
  }
  const std::string_view bytes = end.substr(end.size() - footer->length);
  const uint32_t got = kvdyno::Crc32c(bytes.substr(0, bytes.size() - 2 * sizeof(uint32_t)));
  if (got != checksum) return Status::Corruption(Mismatch("footer crc32c", checksum, got));
  if (format < 1 || format > kRunFormat) {
    return Status::Unsupported(Mismatch("run format version of at most", kRunFormat, format));
  }
  Reader reader(bytes);
  reader.Fixed(&footer->index_offset);
  reader.Fixed(&footer->index_length);
  if (format > 1) reader.Fixed(&footer->filter_length);
  reader.Fixed(&footer->blocks);
  reader.Fixed(&footer->entries);
  reader.Fixed(&footer->index_checksum);
  return Status::Ok();
}

// Sums of damaged lengths may be anything; the checksum vouches for these.
Status CheckFooter(const SortedRunFooter& footer, const ExtentRef& extent) {
  const uint64_t found = footer.index_offset + footer.tail_length();
  if (found != extent.length || footer.tail_length() > extent.length) {
    return Status::Corruption(Mismatch("a footer of a run of bytes", extent.length, found));
  }
  if (footer.entries != extent.entries) {
    return Status::Corruption(Mismatch("entries", extent.entries, footer.entries));
  }
  return Status::Ok();
}

// --- index and filter

std::string EncodeSortedRunIndex(const SortedRunIndex& index, SortedRunFooter* footer) {
  std::string bytes;
  uint64_t entries = 0;
  for (size_t i = 0; i < index.blocks.size(); ++i) {
    const BlockRef& block = index.blocks[i];
    kvdyno::AppendVarint(&bytes, block.offset);
    kvdyno::AppendVarint(&bytes, block.length);
    kvdyno::AppendVarint(&bytes, uint64_t{block.entries} * 2 + block.continues);
    kvdyno::AppendLengthPrefixed(&bytes, index.first_key(i));
    entries += block.entries;
  }
  kvdyno::AppendLengthPrefixed(&bytes, index.last_key());
  *footer = {};
  footer->index_offset = index.blocks.back().offset + index.blocks.back().length;
  footer->index_length = bytes.size();
  index.filter.Encode(&bytes);
  footer->filter_length = bytes.size() - footer->index_length;
  footer->blocks = index.blocks.size();
  footer->entries = entries;
  footer->index_checksum = kvdyno::Crc32c(bytes);
  return bytes;
}

namespace {

void AppendKey(std::string_view key, SortedRunIndex* index) {
  index->keys.append(key);
  index->key_ends.push_back(static_cast<uint32_t>(index->keys.size()));
}

// One block's part of the index; empty when it is fine.
std::string DecodeBlockRef(Reader* reader, uint64_t expected_offset, SortedRunIndex* index) {
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

// What the index lists, block by block.
Status DecodeFences(const SortedRunFooter& footer, std::string_view bytes, SortedRunIndex* result) {
  const auto bad = [](const std::string& text) { return Status::Corruption(text); };
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
  return Status::Ok();
}

}  // namespace

Status DecodeSortedRunIndex(const SortedRunFooter& footer, std::string_view bytes,
                            SortedRunIndex* result) {
  const auto bad = [](const std::string& text) { return Status::Corruption(text); };
  if (bytes.size() > std::numeric_limits<uint32_t>::max() || footer.index_length > bytes.size() ||
      footer.filter_length != bytes.size() - footer.index_length) {
    return bad(Mismatch("bytes of index and filter", footer.index_length + footer.filter_length,
                        bytes.size()));
  }
  const uint32_t checksum = kvdyno::Crc32c(bytes);
  if (checksum != footer.index_checksum) {
    return bad(Mismatch("index crc32c", footer.index_checksum, checksum));
  }
  // A block takes four bytes of index at least, so a count beyond is no reason to allocate.
  const std::string_view fences = bytes.substr(0, footer.index_length);
  if (footer.blocks == 0 || footer.blocks > fences.size() / 4) {
    return bad(Mismatch("blocks from 1 to", fences.size() / 4, footer.blocks));
  }
  *result = {};
  result->blocks.reserve(footer.blocks);
  result->key_ends.reserve(footer.blocks + 1);
  result->keys.reserve(fences.size() - footer.blocks * 4);
  if (!BloomFilter::Decode(bytes.substr(footer.index_length), &result->filter)) {
    return bad("expected a filter's probes and words, got something else");
  }
  if (Status status = DecodeFences(footer, fences, result); !status.ok()) return status;
  result->Seal();
  return Status::Ok();
}

}  // namespace chunkstore
