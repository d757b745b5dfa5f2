#include "funk/extents.h"

#include <algorithm>
#include <iterator>

namespace chunkstore {

void RangeSet::Add(ByteRange range) {
  if (range.size() == 0) return;
  auto at = ranges_.upper_bound(range.from);
  if (at != ranges_.begin() && std::prev(at)->second >= range.from) --at;
  while (at != ranges_.end() && at->first <= range.to) {
    range = {std::min(range.from, at->first), std::max(range.to, at->second)};
    bytes_ -= at->second - at->first;
    at = ranges_.erase(at);
  }
  ranges_.emplace_hint(at, range.from, range.to);
  bytes_ += range.size();
}

void RangeSet::Subtract(ByteRange range) {
  for (const ByteRange& part : Overlap(range)) {
    const auto at = std::prev(ranges_.upper_bound(part.from));
    const ByteRange whole = {at->first, at->second};
    ranges_.erase(at);
    if (whole.from < part.from) ranges_.emplace(whole.from, part.from);
    if (part.to < whole.to) ranges_.emplace(part.to, whole.to);
    bytes_ -= part.size();
  }
}

std::vector<ByteRange> RangeSet::Overlap(ByteRange range) const {
  std::vector<ByteRange> parts;
  auto at = ranges_.upper_bound(range.from);
  if (at != ranges_.begin()) --at;
  for (; at != ranges_.end() && at->first < range.to; ++at) {
    const ByteRange part = {std::max(range.from, at->first), std::min(range.to, at->second)};
    if (part.from < part.to) parts.push_back(part);
  }
  return parts;
}

}  // namespace chunkstore
