// Warmth: what a close saves for the next open: how each chunk was used, and the index of its log.
// Making that index again would cost a read of the whole log. The file is optional: if it is
// missing or damaged, the store is slower for a while.
//
// On disk, warmth-<number>: log indexes · table · footer
//   table  = for each chunk: varint id · varint reads · varint scans · varint log runs ·
//            varint offset and varint length of its log's index (Log::Save), length 0: none ·
//            u32 crc32c of that index
//   footer = u64 table offset · u64 chunks · u32 crc32c of the table · u32 format version ·
//            u32 crc32c of the footer before it · u32 magic
// The manifest names the file that fits a store that was closed properly.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "entry/entry.h"
#include "kvdyno/base/file_system.h"

namespace chunkstore {

std::string WarmthName(uint64_t number);  // "warmth-000012"
bool ParseWarmthName(std::string_view name, uint64_t* number);
// All such files but this one. What cannot be removed is left.
void RemoveWarmth(kvdyno::FileSystem* files, const std::string& directory, uint64_t kept);

struct ChunkWarmth {
  uint64_t id = 0;  // of the chunk
  uint32_t reads = 0, scans = 0;
  uint64_t runs = 0;                // of the log
  uint64_t offset = 0, length = 0;  // of the log's index
  uint32_t checksum = 0;
};

// Immutable; safe from any thread.
class Warmth {
 public:
  // Corruption, with file and offset, when footer or table are damaged.
  static Status Open(kvdyno::FileSystem* files, const std::string& path,
                     std::shared_ptr<const Warmth>* warmth);
  const std::vector<ChunkWarmth>& chunks() const { return chunks_; }  // ascending by id
  const ChunkWarmth* Find(uint64_t id) const;                         // null: nothing is known
  // The index of its log, checked. `chunk` is one of chunks().
  Status Read(const ChunkWarmth& chunk, std::string* index) const;

 private:
  Warmth() = default;
  Status ReadTable();

  std::string path_;
  std::unique_ptr<kvdyno::RandomAccessFile> file_;
  std::vector<ChunkWarmth> chunks_;
};

// One thread.
class WarmthWriter {
 public:
  static Status Create(kvdyno::FileSystem* files, const std::string& directory, uint64_t number,
                       std::unique_ptr<WarmthWriter>* writer);
  // Place and checksum are filled in. An empty index: only its use is known.
  Status Add(ChunkWarmth chunk, std::string_view index);
  // The file and its directory entry are durable then.
  Status Finish();

 private:
  kvdyno::FileSystem* files_ = nullptr;
  std::string directory_;
  std::unique_ptr<kvdyno::WritableFile> file_;
  std::vector<ChunkWarmth> chunks_;
};

}  // namespace chunkstore
