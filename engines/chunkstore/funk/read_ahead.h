// ReadAhead: short runs that are all needed soon, read together: what lies close to each other in a
// segment comes with one call. A flush writes the runs of neighbouring chunks side by side, so
// reorganising neighbours together takes a call per flush instead of one per flush and chunk.
// One thread. The buffer is kept from one Fetch to the next.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "funk/segments.h"

namespace chunkstore {

class ReadAhead {
 public:
  // Longer runs are better read by their cursors, piece by piece.
  static constexpr uint64_t kLongestRun = uint64_t{256} << 10;

  // Forgets what was read before and reads these. What cannot be read is left out: the cursor that
  // needs it reads it again, and gets the error.
  void Fetch(const Segments& segments, std::vector<ExtentRef> extents);
  // A run's bytes, until the next Fetch; empty when they are not here.
  std::string_view Find(const ExtentRef& extent) const;

 private:
  struct Span {
    ExtentRef extent;  // of whole runs and the gaps between them
    std::string_view bytes;
  };
  kvdyno::AlignedBuffer buffer_;
  std::vector<Span> spans_;  // ascending by place
};

}  // namespace chunkstore
