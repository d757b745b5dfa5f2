// PieceWriter: writes an output of a reorganisation as pieces, one per chunk to be.
// Rows are held until it is known how many come: an output that fits a chunk stays whole, a longer
// one is cut into pieces of similar length. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/state.h"
#include "maintenance/policy.h"

namespace chunkstore {

// One chunk to be.
struct Piece {
  std::string min_key, max_key;
  std::shared_ptr<SortedRun> table;  // null: nothing is left in this range
};

class PieceWriter {
 public:
  PieceWriter(State* state, const Policy* policy) : state_(*state), policy_(*policy) {}

  // Begins an output. What an earlier one left unwritten is forgotten; its memory stays for this.
  // `cache` gets the blocks most of whose rows are added as `cached`; it may be null.
  void Start(SegmentWriter* segment, std::string min_key, std::vector<Piece>* pieces,
             BlockCache* cache);
  Status Add(const Entry& entry, bool cached);
  // `end`: of the range. Without any row there is one piece without a table.
  Status Finish(const std::string& end);

 private:
  struct Row {
    size_t at, key_bytes, value_bytes;
    Version version;
    EntryType type;
    bool cached;
  };
  std::string_view KeyOf(const Row& row) const {
    return std::string_view(bytes_).substr(row.at, row.key_bytes);
  }
  Entry EntryOf(const Row& row) const {
    const std::string_view rest = std::string_view(bytes_).substr(row.at + row.key_bytes);
    return {KeyOf(row), rest.substr(0, row.value_bytes), row.version, row.type};
  }
  Status WritePiece(uint64_t piece_bytes, std::string_view behind, bool no_more);
  void Forget();

  State& state_;
  const Policy& policy_;
  SegmentWriter* segment_ = nullptr;
  BlockCache* cache_ = nullptr;
  std::string min_key_;
  std::vector<Piece>* pieces_ = nullptr;
  std::string bytes_;
  std::vector<Row> rows_;
  size_t next_ = 0;  // the first row that is not written
};

}  // namespace chunkstore
