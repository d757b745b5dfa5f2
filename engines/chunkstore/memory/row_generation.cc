#include "memory/row_generation.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace chunkstore {
namespace {

constexpr size_t kMinPlaces = 32;

size_t BytesOf(const Row& row) { return RoundUp(sizeof(Row) + row.key_bytes + row.value_room, 8); }

}  // namespace

Row* RowGeneration::Find(std::string_view key, uint32_t tag) {
  if (table_.empty()) return nullptr;
  const size_t mask = table_.size() - 1;
  for (size_t at = tag & mask; table_[at].place != kFree; at = (at + 1) & mask) {
    if (table_[at].tag != tag || table_[at].place == kRemoved) continue;
    Row* row = RowAt(table_[at].place);
    if (row->key() != key) continue;
    found_ = at;
    return row;
  }
  return nullptr;
}

bool RowGeneration::Add(const Entry& entry, uint32_t tag) {
  const size_t bytes = RowBytes(entry);
  if (rows_ * 4 >= table_.size() * 3 && !GrowTable(bytes)) return false;
  if (used_ + bytes + TableBytes() > limit_) return false;
  const auto place = static_cast<uint32_t>(used_ / 8 + 1);
  Row* row = RowAt(place);
  used_ += bytes;
  touched_ = std::max(touched_, RoundUp(used_, kPageBytes));
  row->key_bytes = static_cast<uint32_t>(entry.key.size());
  row->value_room = static_cast<uint32_t>(bytes - sizeof(Row) - entry.key.size());
  if (!entry.key.empty()) std::memcpy(row->bytes(), entry.key.data(), entry.key.size());
  Overwrite(row, entry);
  Link({tag, place});
  ++rows_;
  return true;
}

bool RowGeneration::Overwrite(Row* row, const Entry& entry) {
  if (entry.value.size() > row->value_room) return false;
  row->version = entry.version;
  row->type = entry.type;
  row->value_bytes = static_cast<uint32_t>(entry.value.size());
  if (!entry.value.empty()) {
    std::memcpy(row->bytes() + row->key_bytes, entry.value.data(), entry.value.size());
  }
  return true;
}

void RowGeneration::Clear(GhostList* ghosts) {
  for (const Place& place : table_) {
    if (place.place != kFree && place.place != kRemoved) ghosts->Add(place.tag);
  }
  size_t places = table_.size();
  while (places > kMinPlaces && rows_ * 4 < places) places /= 2;
  used_ = rows_ = 0;
  std::vector<Place>(table_.empty() ? 0 : places).swap(table_);
}

void RowGeneration::SetLimit(size_t limit) {
  limit_ = limit;
  if (used_ + TableBytes() > limit_) DropRowsBeyond(limit_ - std::min(limit_, TableBytes()));
  if (!pages_.Resize(limit_)) limit_ = pages_.size();
  Trim();
}

void RowGeneration::DropRowsBeyond(size_t end) {
  used_ = rows_ = 0;
  for (Place& place : table_) {
    if (place.place == kFree || place.place == kRemoved) continue;
    const size_t row_end = size_t{place.place - 1} * 8 + BytesOf(*RowAt(place.place));
    if (row_end > end) {
      place.place = kRemoved;
    } else {
      used_ = std::max(used_, row_end);
      ++rows_;
    }
  }
  size_t places = rows_ == 0 ? 0 : kMinPlaces;
  while (rows_ * 4 >= places * 3 && rows_ > 0) places *= 2;
  Rehash(places);
}

// Gives back what was touched in an earlier use and would not fit beside the table now.
void RowGeneration::Trim() {
  const size_t end = std::max(used_, limit_ - std::min(limit_, TableBytes()));
  if (touched_ <= end) return;
  pages_.Discard(end);
  touched_ = std::min(RoundUp(end, kPageBytes), touched_);
}

void RowGeneration::Link(Place place) {
  const size_t mask = table_.size() - 1;
  size_t at = place.tag & mask;
  while (table_[at].place != kFree) at = (at + 1) & mask;
  table_[at] = place;
}

// False when a larger table would not leave room for the row.
bool RowGeneration::GrowTable(size_t row_bytes) {
  const size_t places = std::max(kMinPlaces, table_.size() * 2);
  const size_t table = places * sizeof(Place);
  if (used_ + row_bytes + table > limit_) return false;
  Rehash(places);
  Trim();
  return true;
}

void RowGeneration::Rehash(size_t places) {
  std::vector<Place> old(places);
  old.swap(table_);
  for (const Place& place : old) {
    if (place.place != kFree && place.place != kRemoved) Link(place);
  }
}

}  // namespace chunkstore
