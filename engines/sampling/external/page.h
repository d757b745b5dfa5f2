// Page: what a shard's file consists of. Entries in order, as many as fit, with a checksum; behind the last page
// a footer of the same size. Files are scratch of one process, so numbers have this machine's byte order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "kvdyno/base/file_system.h"
#include "sampling/structure.h"

namespace sampling {

using kvdyno::Status;

struct alignas(kvdyno::kDirectAlignment) Page {
  static constexpr size_t kEntries = 170;
  static constexpr double kTombstone = -1;  // in place of a weight

  uint32_t checksum;  // CRC-32C of all that follows
  uint32_t count;     // of records; all pages of a file but the last are full
  uint32_t number;    // within the file
  uint32_t shard;     // the file's number
  Record records[kEntries];

  // Fills the checksum in; the other members are there.
  void Seal();
  Entry At(size_t slot) const {
    const Record& record = records[slot];
    if (record.weight == kTombstone) return {{record.key, record.value, 0}, Entry::kTombstone};
    return {record, Entry::kNever};
  }
};
static_assert(sizeof(Page) == kvdyno::kDirectAlignment);

struct alignas(kvdyno::kDirectAlignment) Footer {
  static constexpr uint64_t kMagic = 0x31656c706d617364;  // the bytes "dsample1"
  static constexpr uint32_t kVersion = 1;

  uint32_t checksum;
  uint32_t version;
  uint64_t magic;
  uint64_t entries;
  uint32_t pages;
  uint32_t shard;
  char unused[kvdyno::kDirectAlignment - 32];

  void Seal();
};
static_assert(sizeof(Footer) == kvdyno::kDirectAlignment);

// A shard's file, opened for reading. Removes the file when it is destroyed. Safe from any thread.
class PageFile {
 public:
  // Takes charge of the file at once, whatever the outcome. Corruption where its end is not the footer that was
  // written.
  static Status Open(kvdyno::FileSystem* files, std::string path, uint32_t shard, uint32_t pages,
                     uint64_t entries, std::unique_ptr<PageFile>* file);
  ~PageFile();
  PageFile(const PageFile&) = delete;
  PageFile& operator=(const PageFile&) = delete;

  kvdyno::FileSystem* files() const { return files_; }
  const kvdyno::RandomAccessFile* file() const { return file_.get(); }
  uint32_t shard() const { return shard_; }
  uint64_t bytes() const { return file_->size(); }

  // Corruption, with the place, unless `read` bytes are the page that was written there.
  Status Check(const Page& page, uint32_t number, size_t read) const;
  // Pages from `number` on, past the cache.
  Status Read(uint32_t number, std::span<Page> pages) const;

 private:
  PageFile(kvdyno::FileSystem* files, std::string path, uint32_t shard)
      : files_(files), path_(std::move(path)), shard_(shard) {}

  kvdyno::FileSystem* const files_;
  const std::string path_;
  const uint32_t shard_;
  std::unique_ptr<kvdyno::RandomAccessFile> file_;
};

}  // namespace sampling
