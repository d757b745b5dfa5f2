// StoreIterator: rows in both directions at one version, through windows of copied rows.
// Between movements it holds its version but no pin, so that an idle iterator keeps no memory and
// no stage from being reused. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chunkstore/store.h"
#include "core/reader.h"

namespace chunkstore {

// Rows of one window, copied.
class RowBuffer {
 public:
  void Clear();
  void Add(std::string_view key, std::string_view value);
  // Keeps the last `rows`.
  void KeepLast(size_t rows);
  size_t size() const { return rows_.size(); }
  size_t bytes() const { return bytes_.size(); }
  std::string_view key(size_t i) const;
  std::string_view value(size_t i) const;

 private:
  struct Row {
    size_t at, key_length, value_length;
  };
  std::string bytes_;
  std::vector<Row> rows_;
};

class StoreIterator final : public Iterator {
 public:
  // Holds its version itself, so that a snapshot it was made with may go.
  StoreIterator(State* state, Reader* reader, const ReadOptions& options);

  // Rows outside of [lower, upper) do not exist for it; an empty upper has no bound. For Scan.
  void SetBounds(std::string_view lower, std::string_view upper);

  bool Valid() const override { return status_.ok() && at_ < buffer_.size(); }
  void SeekToFirst() override { Seek({}); }
  void SeekToLast() override;
  void Seek(std::string_view key) override;
  void SeekForPrev(std::string_view key) override;
  void Next() override;
  void Prev() override;
  std::string_view key() const override { return buffer_.key(at_); }
  std::string_view value() const override { return buffer_.value(at_); }
  Status status() const override { return status_; }

 private:
  void FillFrom(std::string_view from);   // rows at or after; at_ at the first
  void FillBefore(std::string_view end);  // rows before; at_ at the last. Empty: no bound
  size_t CollectBefore(std::string_view from, std::string_view end, uint64_t expected);

  State* state_;
  Reader* reader_;
  SnapshotHold moment_;
  bool fill_cache_;
  std::string lower_, upper_;
  RowBuffer buffer_;
  size_t at_ = 0;
  size_t window_rows_ = 0;           // grows while the walk goes on
  std::vector<std::string> fences_;  // keys met on the way through a chunk without a table
  Status status_;
};

}  // namespace chunkstore
