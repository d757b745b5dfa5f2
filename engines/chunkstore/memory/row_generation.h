// RowGeneration: one table of the row cache's queue, filled until it is dropped as a whole.
// Owns one mapping in which rows lie behind each other, and a hash table of their places. Not
// thread-safe: the shard's lock guards it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "entry/entry.h"
#include "memory/ghost_list.h"
#include "memory/pages.h"

namespace chunkstore {

// A row as it lies in memory; the key follows, then the value.
struct Row {
  Version version;
  uint32_t key_bytes;
  uint32_t value_bytes;
  uint32_t value_room;  // a refreshed value may grow to this
  EntryType type;

  char* bytes() { return reinterpret_cast<char*>(this + 1); }
  const char* bytes() const { return reinterpret_cast<const char*>(this + 1); }
  std::string_view key() const { return {bytes(), key_bytes}; }
  std::string_view value() const { return {bytes() + key_bytes, value_bytes}; }
};
static_assert(sizeof(Row) == 24);

class RowGeneration {
 public:
  static size_t RowBytes(const Entry& entry) {
    return RoundUp(sizeof(Row) + entry.key.size() + entry.value.size(), 8);
  }

  // Brings the place in the table where the key would be near.
  void Prefetch(uint32_t tag) const {
    if (!table_.empty()) __builtin_prefetch(&table_[tag & (table_.size() - 1)]);
  }
  // Null when there is no such row. `tag`: 32 bits of the key's hash.
  Row* Find(std::string_view key, uint32_t tag);
  // The row that Find has just returned is not to be found any more.
  void RemoveFound() { table_[found_].place = kRemoved; }
  // False when there is no room. The key is not in this generation.
  bool Add(const Entry& entry, uint32_t tag);
  // Overwrites a row, if its room suffices.
  static bool Overwrite(Row* row, const Entry& entry);

  // Makes it empty, for use as a new head; its memory stays, up to the limit.
  void Clear(GhostList* ghosts);
  // At most so many bytes, table included; rows beyond are dropped and memory beyond goes back.
  void SetLimit(size_t limit);

  size_t rows() const { return rows_; }
  size_t memory() const { return touched_ + TableBytes(); }

 private:
  // Places count steps of eight bytes, from one on.
  static constexpr uint32_t kFree = 0, kRemoved = UINT32_MAX;
  struct Place {
    uint32_t tag = 0;
    uint32_t place = kFree;
  };
  Row* RowAt(uint32_t place) const {
    return reinterpret_cast<Row*>(pages_.data() + size_t{place - 1} * 8);
  }
  void Link(Place place);
  bool GrowTable(size_t row_bytes);
  void Rehash(size_t places);
  void DropRowsBeyond(size_t end);
  void Trim();
  size_t TableBytes() const { return table_.size() * sizeof(Place); }

  Pages pages_;
  size_t limit_ = 0;
  size_t used_ = 0;     // bytes of rows, those removed included
  size_t touched_ = 0;  // the most that was ever used: this is resident
  size_t rows_ = 0;     // entered, those removed included
  size_t found_ = 0;
  std::vector<Place> table_;  // open addressing, linear probing, a power of two
};

}  // namespace chunkstore
