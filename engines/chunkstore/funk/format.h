// The on-disk form of runs: sorted entries in blocks inside a segment file.
//
// A segment file segment-<number>.seg holds runs one after the other, and is padded to whole pages.
// A run: blocks · index · filter · footer. It is addressed by its ExtentRef; everything in it is
// relative to its offset.
//   block  = entries · u32 offset of each entry · u32 entries + 2^31 · u32 crc32c of the block's u64
//            offset in the run and all before it: a block in another's place fails its checksum
//   entry  = u8 EntryType · varint key length · varint value length · u64 version · key · value
//   index  = for each block: varint offset · varint length · varint (entries * 2 + continues) ·
//            length-prefixed first key; then length-prefixed last key of the run.
//            continues: the block before ends with this first key too
//   filter = of a table: a Bloom filter of kvdyno::Hash64 of its keys (funk/bloom.h); may be none
//   footer = u64 index offset · u64 index length · u64 filter length · u64 blocks · u64 entries ·
//            u32 crc32c of index and filter · u32 format version · u32 crc32c of the footer before
//            it · u32 magic
// Format 1, which is read and no longer written: no filter, and its length is not in the footer; a
// block's entries are stored without the 2^31, and its checksum does not cover its offset.
// Entries are in entry order (core/entry.h). A block ends before it would exceed the block size,
// unless a single entry does. Blocks lie back to back from offset 0, the index behind them.
// Decoders are safe on any bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "entry/entry.h"
#include "funk/bloom.h"
#include "memory/prefix_words.h"

namespace chunkstore {

inline constexpr uint32_t kRunMagic = 0x4b4e5546;  // "FUNK"
inline constexpr uint32_t kRunFormat = 2;
inline constexpr size_t kFooterBytes = 56;
inline constexpr size_t kLeastFooterBytes = 48;  // of format 1
inline constexpr size_t kBlockTrailerBytes = 8;
// In a block's number of entries: its checksum covers its place.
inline constexpr uint32_t kPlacedBlock = uint32_t{1} << 31;

std::string SegmentName(uint64_t number);  // "segment-000012.seg"
bool ParseSegmentName(std::string_view name, uint64_t* number);
// The number between the two, false if there is anything else.
bool ParseNumberIn(std::string_view name, std::string_view prefix, std::string_view suffix,
                   uint64_t* number);

// "expected <what> <expected>, got <got>": what is wrong with stored bytes.
std::string Mismatch(const char* what, uint64_t expected, uint64_t got);

// Where a run lies. Zero length: no run.
struct ExtentRef {
  uint64_t segment = 0;
  uint64_t offset = 0;
  uint64_t length = 0;
  uint64_t entries = 0;
  bool empty() const { return length == 0; }
  bool operator==(const ExtentRef&) const = default;
};

// Where a block lies in its run; the length counts the trailer.
struct BlockPlace {
  uint64_t offset = 0;
  uint32_t length = 0;
  bool operator==(const BlockPlace&) const = default;
};

struct BlockRef {
  uint64_t offset = 0;  // in the run
  uint32_t length = 0;  // trailer included
  uint32_t entries : 31 = 0;
  uint32_t continues : 1 = 0;  // its first key also ends the block before
  BlockPlace place() const { return {offset, length}; }
};

// What a run's end holds: the fence index, per block its place and first key, and the filter.
struct SortedRunIndex {
  std::vector<BlockRef> blocks;
  std::string keys;                // first keys back to back, then the last key
  std::vector<uint32_t> key_ends;  // blocks.size() + 1 of them
  PrefixWords words;               // of the first keys
  BloomFilter filter;              // of all keys

  std::string_view key(size_t i) const {
    const uint32_t from = i == 0 ? 0 : key_ends[i - 1];
    return std::string_view(keys).substr(from, key_ends[i] - from);
  }
  std::string_view first_key(size_t block) const { return key(block); }
  std::string_view last_key() const { return key(blocks.size()); }
  size_t memory() const;
  // The block in which a search for the first entry at or after the key begins: it is there, or the
  // next block starts with it. blocks.size() when no entry is.
  size_t Find(std::string_view key) const;
  // After blocks and keys are filled.
  void Seal();
};

// Reads one block; the bytes must outlive the view.
class BlockView {
 public:
  BlockView() = default;
  // Checks the whole structure, so that the other methods are safe whatever the bytes are; the
  // order of the entries is not looked at. `offset`: the block's in its run. Corruption text without
  // file and offset, which the caller adds; empty: fine.
  static std::string Parse(std::string_view bytes, uint64_t offset, bool verify_checksum,
                           BlockView* view);
  // For bytes that Parse has accepted before.
  explicit BlockView(std::string_view parsed);

  uint32_t size() const { return count_; }
  Entry at(uint32_t i) const;
  uint32_t LowerBound(std::string_view key, Version version) const;  // first entry not before

 private:
  const char* EntryAt(uint32_t i) const;
  const char* data_ = nullptr;
  const char* offsets_ = nullptr;
  uint32_t count_ = 0;
};

// The checksum of a block begins with its place; its bytes follow.
uint32_t PlaceChecksum(uint64_t offset);

// The head of an entry, everything but key and value; at most kMaxEntryHead bytes.
inline constexpr size_t kMaxEntryHead = 1 + 10 + 10 + 8;
size_t StoreEntryHead(char* to, const Entry& entry);

struct SortedRunFooter {
  uint64_t index_offset = 0;
  uint64_t index_length = 0;
  uint64_t filter_length = 0;
  uint64_t blocks = 0;
  uint64_t entries = 0;
  uint32_t index_checksum = 0;   // of index and filter
  size_t length = kFooterBytes;  // of the footer itself

  // Index, filter and footer: all behind the blocks.
  uint64_t tail_length() const { return index_length + filter_length + length; }
};
std::string EncodeFooter(const SortedRunFooter& footer);
// `end`: the last bytes of a run, kFooterBytes of them, or all where it is shorter. These functions
// name what was expected and found, but neither file nor offset.
Status DecodeFooter(std::string_view end, SortedRunFooter* footer);
// Whether it is the footer of such a run.
Status CheckFooter(const SortedRunFooter& footer, const ExtentRef& extent);
// Index and filter, as EncodeSortedRunIndex gives them.
Status DecodeSortedRunIndex(const SortedRunFooter& footer, std::string_view bytes,
                            SortedRunIndex* result);
// Sets all of the footer but the length.
std::string EncodeSortedRunIndex(const SortedRunIndex& index, SortedRunFooter* footer);

}  // namespace chunkstore
