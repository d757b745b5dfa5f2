// Merging and queries of Histogram, on the thread that owns it at the moment.
#include "measure/histogram.h"

#include <algorithm>
#include <cmath>
#include <new>

namespace kvdyno {

Histogram::Histogram()
    : counts_(static_cast<uint64_t*>(std::calloc(Index(kHighest) + 1, sizeof(uint64_t)))) {
  if (counts_ == nullptr) throw std::bad_alloc();
}

void Histogram::Merge(const Histogram& other) {
  if (other.count_ == 0) return;
  const size_t end = other.used_indices();
  for (size_t i = Index(other.min_); i < end; ++i) {
    // Adding zeros would touch, and so allocate, pages without counts.
    if (other.counts_[i] != 0) counts_[i] += other.counts_[i];
  }
  count_ += other.count_;
  sum_ += other.sum_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

void Histogram::Reset() {
  if (count_ == 0) return;
  for (size_t i = Index(min_), end = used_indices(); i < end; ++i) {
    if (counts_[i] != 0) counts_[i] = 0;
  }
  count_ = 0;
  sum_ = 0;
  min_ = UINT64_MAX;
  max_ = 0;
}

double Histogram::mean() const {
  return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
}

uint64_t Histogram::Percentile(double percentile) const {
  if (count_ == 0) return 0;
  const double wanted = std::min(percentile, 100.0) * static_cast<double>(count_) / 100;
  const uint64_t rank =
      std::clamp(static_cast<uint64_t>(std::llround(wanted)), uint64_t{1}, count_);
  uint64_t seen = 0;
  size_t index = Index(min_);
  for (const size_t end = used_indices(); index + 1 < end; ++index) {
    seen += counts_[index];
    if (seen >= rank) break;
  }
  return Highest(index);
}

uint64_t Histogram::Lowest(size_t index) {
  if (index < kSubBuckets) return index;
  const size_t magnitude = index / (kSubBuckets / 2) - 1;
  return (index - magnitude * (kSubBuckets / 2)) << magnitude;
}

}  // namespace kvdyno
