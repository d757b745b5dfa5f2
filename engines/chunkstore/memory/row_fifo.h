// RowFifo: rows behind each other in a circular buffer, and a hash table of their places.
// A new row enters at the head. The row at the tail makes room for it; if it was found since it
// came there last, it goes to the head instead: a clock (Corbató 1968) with up to three chances.
// Owns one mapping and the table. Not thread-safe: the shard's lock guards it.
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
  static constexpr uint32_t kMostChances = 3;

  Version version;
  uint32_t tag;  // 32 bits of the key's hash
  uint32_t value_bytes;
  uint32_t value_room;  // a refreshed value may grow to this
  uint32_t key_bytes : 24;
  uint32_t chances : 2;  // to go round again
  uint32_t removed : 1;  // not in the table
  uint32_t deletion : 1;

  char* bytes() { return reinterpret_cast<char*>(this + 1); }
  const char* bytes() const { return reinterpret_cast<const char*>(this + 1); }
  std::string_view key() const { return {bytes(), key_bytes}; }
  std::string_view value() const { return {bytes() + key_bytes, value_bytes}; }
  EntryType type() const { return deletion ? EntryType::kDeletion : EntryType::kValue; }
};
static_assert(sizeof(Row) == 24);

class RowFifo {
 public:
  static size_t RowBytes(const Entry& entry) {
    return RoundUp(sizeof(Row) + entry.key.size() + entry.value.size(), 8);
  }

  // Null when there is no such row. `tag`: 32 bits of the key's hash.
  Row* Find(std::string_view key, uint32_t tag);
  static void GiveChance(Row* row) {
    if (row->chances < Row::kMostChances) ++row->chances;
  }
  void Remove(Row* row);
  // The key is not in it. False when the row is larger than all of it. What leaves for it is
  // remembered by the ghosts.
  bool Add(const Entry& entry, uint32_t tag, GhostList* ghosts);
  // Overwrites a row, if its room suffices.
  static bool Overwrite(Row* row, const Entry& entry);

  // At most so many bytes, table included; rows beyond are dropped and memory beyond goes back.
  void SetLimit(size_t limit, GhostList* ghosts);

  size_t rows() const { return rows_; }
  uint64_t drops() const { return drops_; }  // rows that made room, ever
  size_t memory() const { return touched_ + TableBytes(); }

 private:
  // Places count steps of eight bytes, from one on.
  static constexpr uint32_t kFree = 0;
  struct Place {
    uint32_t tag = 0;
    uint32_t place = kFree;
  };
  Row* RowAt(size_t offset) const { return reinterpret_cast<Row*>(pages_.data() + offset); }
  static uint32_t PlaceOf(size_t offset) { return static_cast<uint32_t>(offset / 8 + 1); }
  size_t OffsetOf(const Row* row) const {
    return static_cast<size_t>(reinterpret_cast<const char*>(row) - pages_.data());
  }
  bool MakeRoom(size_t bytes, GhostList* ghosts);
  bool FreeTail(bool may_stay, GhostList* ghosts);
  // Drops those of the rows in [from, to) that end behind end_; returns where the others end.
  size_t Cut(size_t from, size_t to, GhostList* ghosts);
  void CutBeyondEnd(GhostList* ghosts);

  Place* PlaceInTable(uint32_t tag, size_t offset);
  void Link(Place place);
  void Unlink(Place* place);
  void ResizeTable(size_t places, GhostList* ghosts);
  size_t TableBytes() const { return table_.size() * sizeof(Place); }

  Pages pages_;
  size_t limit_ = 0;
  size_t end_ = 0;  // of what rows may take
  // Rows lie in [tail_, head_), or, when the head has gone round, in [tail_, wrap_) and [0, head_).
  size_t tail_ = 0, head_ = 0, wrap_ = 0;
  bool wrapped_ = false;
  size_t touched_ = 0;  // the furthest that rows ever reached: this is resident
  size_t rows_ = 0;     // in the table
  uint64_t drops_ = 0;
  std::vector<Place> table_;  // open addressing, linear probing, a power of two
};

}  // namespace chunkstore
