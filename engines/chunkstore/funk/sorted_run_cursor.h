// SortedRunCursor: walks a run's entries, reading ahead.
// Blocks in the cache are used where the very next one is there; else a read brings as many bytes
// as the caller announced, and each following read twice as many, up to 1 MiB. A run that was read
// ahead is used from there. With ReadContext::reader the whole run is read, a piece ahead of its use,
// from the cursor's making on. One thread; the run, the reader, and what was read ahead, outlive it.
#pragma once

#include <cstdint>
#include <memory>

#include "funk/sorted_run.h"

namespace chunkstore {

class SortedRunCursor final : public EntryCursor {
 public:
  SortedRunCursor(const SortedRun* run, const ReadContext& context, size_t span);
  ~SortedRunCursor() override;
  void Seek(std::string_view key) override;
  bool Valid() const override { return valid_; }
  void Next() override;
  const Entry& entry() const override { return entry_; }
  Status status() const override { return status_; }

  // While valid: the entry's block.
  uint32_t block() const { return static_cast<uint32_t>(block_); }
  const BlockRef& block_ref() const { return index_->blocks[block_]; }
  bool read_disk() const { return read_disk_; }

 private:
  // Both make the cursor invalid, with status_ set, where they return false.
  bool EnterBlock(size_t block);
  bool ReadFrom(size_t block);
  void StartPiece(size_t block);
  bool TakePiece(size_t block);
  bool Fail(Status status);
  void Show();

  const SortedRun* run_;
  const ReadContext context_;
  const size_t span_;
  std::shared_ptr<const SortedRunIndex> index_;
  size_t next_read_ = 0;  // bytes

  // The current block is pinned in the cache, or lies in what was read last.
  size_t block_ = 0;
  BlockCache::Handle handle_;
  kvdyno::AlignedBuffer buffer_;
  std::string_view read_;     // in buffer_, or read ahead
  uint64_t read_offset_ = 0;  // of read_ in the run
  BlockView view_;
  uint32_t at_ = 0;

  // What the reader reads.
  struct Piece {
    size_t from = 0, to = 0;  // blocks
    kvdyno::AlignedBuffer buffer;
    std::string_view bytes;  // in buffer
    Status status;
    uint64_t task = 0;  // the reader's number of it
  } piece_;

  Entry entry_;
  bool valid_ = false;
  bool read_disk_ = false;
  Status status_;
};

}  // namespace chunkstore
