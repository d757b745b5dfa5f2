#include "funk/read_ahead.h"

#include <algorithm>
#include <tuple>

namespace chunkstore {

namespace {

// Between runs, read along: cheaper than another call. Not larger than the run behind it, or what
// is read for nothing would take more memory than what is needed.
constexpr uint64_t kLargestGap = uint64_t{64} << 10;
constexpr uint64_t kLargestSpan = uint64_t{1} << 20;

bool StartsBefore(const ExtentRef& a, const ExtentRef& b) {
  return std::tie(a.segment, a.offset) < std::tie(b.segment, b.offset);
}

uint64_t EndOf(const ExtentRef& extent) { return extent.offset + extent.length; }

}  // namespace

void ReadAhead::Fetch(const Segments& segments, std::vector<ExtentRef> extents) {
  std::sort(extents.begin(), extents.end(), StartsBefore);
  spans_.clear();
  std::vector<SegmentRead> reads;
  for (size_t i = 0; i < extents.size();) {
    ExtentRef all = extents[i++];
    for (; i < extents.size(); ++i) {
      const ExtentRef& next = extents[i];
      if (next.segment != all.segment ||
          next.offset > EndOf(all) + std::min(kLargestGap, next.length) ||
          EndOf(next) > all.offset + kLargestSpan) {
        break;
      }
      all.length = EndOf(next) - all.offset;
    }
    reads.push_back({all, 0, all.length, {}, {}});
  }
  segments.ReadTogether(&reads, &buffer_);
  for (const SegmentRead& read : reads) {
    if (read.status.ok()) spans_.push_back({read.extent, read.bytes});
  }
}

std::string_view ReadAhead::Find(const ExtentRef& extent) const {
  auto at = std::upper_bound(
      spans_.begin(), spans_.end(), extent,
      [](const ExtentRef& place, const Span& span) { return StartsBefore(place, span.extent); });
  if (at == spans_.begin()) return {};
  --at;
  if (at->extent.segment != extent.segment || EndOf(extent) > EndOf(at->extent)) return {};
  return at->bytes.substr(extent.offset - at->extent.offset, extent.length);
}

}  // namespace chunkstore
