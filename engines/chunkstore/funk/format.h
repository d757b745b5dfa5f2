// The on-disk form of runs: sorted entries in blocks inside a segment file.
//
// A segment file segment-<number>.seg holds runs one after the other, and is padded to whole pages.
// A run: blocks · index · footer. It is addressed by its ExtentRef; everything in it is relative
// to its offset.
//   block  = entries · u32 offset of each entry · u32 entries · u32 crc32c of all before it
//   entry  = u8 EntryType · varint key length · varint value length · u64 version · key · value
//   index  = for each block: varint offset · varint length · varint entries · length-prefixed first key;
//            then length-prefixed last key of the run
//   footer = u64 index offset · u64 index length · u64 blocks · u64 entries · u32 index crc32c ·
//            u32 format version · u32 crc32c of the footer before it · u32 magic
// Entries are in entry order (core/entry.h). A block ends before it would exceed the block size,
// unless a single entry does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/entry.h"

namespace chunkstore {

inline constexpr uint32_t kRunMagic = 0x4b4e5546;  // "FUNK"
inline constexpr uint32_t kRunFormat = 1;
inline constexpr size_t kFooterBytes = 48;
inline constexpr size_t kBlockTrailerBytes = 8;

std::string SegmentName(uint64_t number);                       // "segment-000012.seg"
bool ParseSegmentName(std::string_view name, uint64_t* number);

// Where a run lies. Zero length: no run.
struct ExtentRef {
  uint64_t segment = 0;
  uint64_t offset = 0;
  uint64_t length = 0;
  uint64_t entries = 0;
  bool empty() const { return length == 0; }
  bool operator==(const ExtentRef&) const = default;
};

struct BlockRef {
  uint64_t offset = 0;  // in the run
  uint32_t length = 0;  // trailer included
  uint32_t entries = 0;
};

// The fence index of a run: per block its place and first key.
struct RunIndex {
  std::vector<BlockRef> blocks;
  std::string keys;                    // first keys back to back, then the last key
  std::vector<uint32_t> key_ends;      // blocks.size() + 1 of them
  std::string_view first_key(size_t block) const;
  std::string_view last_key() const;
  size_t memory() const;
  // The block that holds the first entry at or after (key, version); blocks.size() if none does.
  size_t Find(std::string_view key) const;
};

// Reads one block; the bytes must outlive the view. Parse checks structure, not the checksum.
class BlockView {
 public:
  // Corruption text without file and offset, which the caller adds; empty: fine.
  static std::string Parse(std::string_view bytes, bool verify_checksum, BlockView* view);
  uint32_t size() const { return count_; }
  Entry at(uint32_t i) const;
  uint32_t LowerBound(std::string_view key, Version version) const;  // first entry not before
 private:
  std::string_view bytes_;
  uint32_t count_ = 0;
};

Status DecodeRunIndex(std::string_view footer, std::string_view index, RunIndex* result);

}  // namespace chunkstore
