// RangeSet: disjoint byte ranges of a file, for instance those that are in use or that hold blocks.
// Neighbours that touch are one range. A plain value; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace chunkstore {

struct ByteRange {
  uint64_t from = 0;
  uint64_t to = 0;  // exclusive
  uint64_t size() const { return to - from; }
};

class RangeSet {
 public:
  void Add(ByteRange range);
  void Subtract(ByteRange range);
  // What of `range` is in the set.
  std::vector<ByteRange> Overlap(ByteRange range) const;

  uint64_t bytes() const { return bytes_; }
  bool empty() const { return ranges_.empty(); }

 private:
  std::map<uint64_t, uint64_t> ranges_;  // from → to
  uint64_t bytes_ = 0;
};

}  // namespace chunkstore
