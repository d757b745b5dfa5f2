#include "maintenance/piece_writer.h"

#include <utility>

#include "hooks/seeded_bugs.h"

namespace chunkstore {

void PieceWriter::Start(SegmentWriter* segment, std::string min_key, std::vector<Piece>* pieces,
                        BlockCache* cache) {
  segment_ = segment;
  cache_ = cache;
  min_key_ = std::move(min_key);
  pieces_ = pieces;
  bytes_.clear();
  rows_.clear();
  next_ = 0;
}

Status PieceWriter::Add(const Entry& entry, bool cached) {
  const uint64_t most = 2 * state_.options.chunk_size;
  if (bytes_.size() >= most && KeyOf(rows_.back()) != entry.key) {
    const uint64_t piece_bytes = policy_.PieceBytes(most);
    if (Status status = WritePiece(piece_bytes, entry.key, false); !status.ok()) return status;
  }
  rows_.push_back(
      {bytes_.size(), entry.key.size(), entry.value.size(), entry.version, entry.type, cached});
  bytes_.append(entry.key).append(entry.value);
  return Status::Ok();
}

Status PieceWriter::Finish(const std::string& end) {
  const uint64_t piece_bytes = policy_.PieceBytes(bytes_.size());
  while (next_ < rows_.size()) {
    if (Status status = WritePiece(piece_bytes, end, true); !status.ok()) return status;
  }
  if (pieces_->empty()) pieces_->push_back({min_key_, end, nullptr});
  pieces_->back().max_key = end;
  return Status::Ok();
}

// The rows from next_ on, about as many bytes as asked for; versions of a key stay together. A
// remainder that is too small for a piece of its own goes along when no more rows come. `behind` is
// the key at which the rows after the held ones begin.
Status PieceWriter::WritePiece(uint64_t piece_bytes, std::string_view behind, bool no_more) {
  SortedRunForm form = state_.table_form();
  form.cache = cache_;
  SortedRunBuilder builder(segment_, form);
  const size_t first = next_;
  const uint64_t left = bytes_.size();
  const bool last = no_more && left < piece_bytes + piece_bytes / 2;
  for (; next_ < rows_.size(); ++next_) {
    const Row& row = rows_[next_];
    const bool full = !last && row.at - rows_[first].at >= piece_bytes;
    if (full && KeyOf(row) != KeyOf(rows_[next_ - 1])) break;
    if (Seeded(Bug::kLostInSplit) && next_ == first && !pieces_->empty() &&
        next_ + 1 < rows_.size()) {
      continue;
    }
    if (Status status = builder.Add(EntryOf(row), row.cached); !status.ok()) return status;
  }
  SortedRunSummary summary;
  if (Status status = builder.Finish(&summary); !status.ok()) return status;
  std::string max_key(next_ < rows_.size() ? KeyOf(rows_[next_]) : behind);
  pieces_->push_back(
      {min_key_, max_key,
       std::make_shared<SortedRun>(state_.segments.get(), summary.extent, summary.index)});
  state_.counters.Add(Count::kRebalanceBytes, summary.extent.length);
  min_key_ = std::move(max_key);
  Forget();
  return Status::Ok();
}

// What is written need not be held.
void PieceWriter::Forget() {
  const size_t written = next_ < rows_.size() ? rows_[next_].at : bytes_.size();
  bytes_.erase(0, written);
  rows_.erase(rows_.begin(), rows_.begin() + static_cast<long>(next_));
  for (Row& row : rows_) row.at -= written;
  next_ = 0;
}

}  // namespace chunkstore
