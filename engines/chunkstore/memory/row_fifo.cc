#include "memory/row_fifo.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace chunkstore {
namespace {

constexpr size_t kMinPlaces = 32;
// So that a shard full of rows in use is not gone through under the lock.
constexpr int kMostGoRound = 256;

size_t BytesOf(const Row& row) { return RoundUp(sizeof(Row) + row.key_bytes + row.value_room, 8); }

}  // namespace

Row* RowFifo::Find(std::string_view key, uint32_t tag) {
  if (table_.empty()) return nullptr;
  const size_t mask = table_.size() - 1;
  for (size_t at = tag & mask; table_[at].place != kFree; at = (at + 1) & mask) {
    if (table_[at].tag != tag) continue;
    Row* row = RowAt(size_t{table_[at].place - 1} * 8);
    if (row->key() == key) return row;
  }
  return nullptr;
}

void RowFifo::Remove(Row* row) {
  Unlink(PlaceInTable(row->tag, OffsetOf(row)));
  row->removed = 1;
}

bool RowFifo::Add(const Entry& entry, uint32_t tag, GhostList* ghosts) {
  const size_t bytes = RowBytes(entry);
  if (rows_ * 4 >= table_.size() * 3) ResizeTable(std::max(kMinPlaces, table_.size() * 2), ghosts);
  if (!MakeRoom(bytes, ghosts)) return false;
  Row* row = RowAt(head_);
  row->tag = tag;
  row->key_bytes = static_cast<uint32_t>(entry.key.size()) & 0xffffff;
  row->value_room = static_cast<uint32_t>(bytes - sizeof(Row) - entry.key.size());
  row->chances = 0;
  row->removed = 0;
  if (!entry.key.empty()) std::memcpy(row->bytes(), entry.key.data(), entry.key.size());
  Overwrite(row, entry);
  Link({tag, PlaceOf(head_)});
  head_ += bytes;
  touched_ = std::max(touched_, RoundUp(head_, kPageBytes));
  return true;
}

bool RowFifo::Overwrite(Row* row, const Entry& entry) {
  if (entry.value.size() > row->value_room) return false;
  row->version = entry.version;
  row->deletion = entry.type == EntryType::kDeletion;
  row->value_bytes = static_cast<uint32_t>(entry.value.size());
  if (!entry.value.empty()) {
    std::memcpy(row->bytes() + row->key_bytes, entry.value.data(), entry.value.size());
  }
  return true;
}

// Room behind the head, in one piece.
bool RowFifo::MakeRoom(size_t bytes, GhostList* ghosts) {
  if (bytes > end_) return false;
  for (int stayed = 0;;) {
    if (!wrapped_) {
      if (head_ + bytes <= end_) return true;
      wrap_ = std::exchange(head_, 0);
      wrapped_ = tail_ < wrap_;
      if (!wrapped_) tail_ = 0;
    } else if (head_ + bytes <= tail_) {
      return true;
    } else {
      stayed += FreeTail(stayed < kMostGoRound, ghosts) ? 1 : 0;
    }
  }
}

// The oldest row makes room, or goes to the head, which lies before it: then it moves by what is
// free between them. True when it stayed.
bool RowFifo::FreeTail(bool may_stay, GhostList* ghosts) {
  Row* row = RowAt(tail_);
  const size_t bytes = BytesOf(*row);
  const bool stays = may_stay && !row->removed && row->chances > 0;
  if (stays) {
    PlaceInTable(row->tag, tail_)->place = PlaceOf(head_);
    std::memmove(RowAt(head_), row, bytes);
    --RowAt(head_)->chances;
    head_ += bytes;
  } else if (!row->removed) {
    ghosts->Add(row->tag);
    Unlink(PlaceInTable(row->tag, tail_));
    ++drops_;
  }
  tail_ += bytes;
  if (tail_ == wrap_) {
    tail_ = 0;
    wrapped_ = false;
  }
  return stays;
}

void RowFifo::SetLimit(size_t limit, GhostList* ghosts) {
  // Fewer rows have a smaller table: what is left is shared as before.
  const double scale = static_cast<double>(limit) / static_cast<double>(std::max(limit, limit_));
  end_ = static_cast<size_t>(static_cast<double>(end_) * scale);
  limit_ = limit;
  CutBeyondEnd(ghosts);
  size_t places = rows_ == 0 ? 0 : kMinPlaces;
  while (rows_ * 4 >= places * 3 && rows_ > 0) places *= 2;
  ResizeTable(std::min(places, table_.size()), ghosts);
}

size_t RowFifo::Cut(size_t from, size_t to, GhostList* ghosts) {
  size_t kept = from;
  for (size_t at = from; at < to;) {
    Row* row = RowAt(at);
    at += BytesOf(*row);
    if (at <= end_) {
      kept = at;
    } else if (!row->removed) {
      ghosts->Add(row->tag);
      Unlink(PlaceInTable(row->tag, OffsetOf(row)));
    }
  }
  return kept;
}

void RowFifo::CutBeyondEnd(GhostList* ghosts) {
  if (wrapped_ && wrap_ > end_) {
    wrap_ = Cut(tail_, wrap_, ghosts);
    if (wrap_ == tail_) {
      tail_ = 0;
      wrapped_ = false;
    }
  }
  if (head_ > end_) head_ = Cut(wrapped_ ? 0 : tail_, head_, ghosts);
  if (!wrapped_ && tail_ == head_) tail_ = head_ = 0;
  touched_ = std::min(touched_, RoundUp(end_, kPageBytes));
}

// The row's own place: another row may have the same tag.
RowFifo::Place* RowFifo::PlaceInTable(uint32_t tag, size_t offset) {
  const size_t mask = table_.size() - 1;
  size_t at = tag & mask;
  while (table_[at].place != PlaceOf(offset)) at = (at + 1) & mask;
  return &table_[at];
}

void RowFifo::Link(Place place) {
  const size_t mask = table_.size() - 1;
  size_t at = place.tag & mask;
  while (table_[at].place != kFree) at = (at + 1) & mask;
  table_[at] = place;
  ++rows_;
}

// Places behind it move up, so that no search ends too early (Knuth, TAOCP 3, section 6.4,
// algorithm R).
void RowFifo::Unlink(Place* place) {
  const size_t mask = table_.size() - 1;
  auto hole = static_cast<size_t>(place - table_.data());
  for (size_t at = (hole + 1) & mask; table_[at].place != kFree; at = (at + 1) & mask) {
    const size_t home = table_[at].tag & mask;
    if (((at - home) & mask) < ((at - hole) & mask)) continue;  // home lies behind the hole
    table_[hole] = table_[at];
    hole = at;
  }
  table_[hole] = {};
  --rows_;
}

// What the table takes is not there for rows.
void RowFifo::ResizeTable(size_t places, GhostList* ghosts) {
  end_ = limit_ - std::min(limit_, places * sizeof(Place));
  CutBeyondEnd(ghosts);
  if (places != table_.size()) {
    std::vector<Place> old(places);
    old.swap(table_);
    rows_ = 0;
    for (const Place& place : old) {
      if (place.place != kFree) Link(place);
    }
  }
  if (!pages_.Resize(end_)) end_ = pages_.size();
}

}  // namespace chunkstore
