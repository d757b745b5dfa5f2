// Histogram: counts of nanosecond values from 0 to one hour, to 3 significant digits, in the
// bucket layout of HdrHistogram (github.com/HdrHistogram), so that its tools read what is exported.
// Owns the counters (264 KiB, of which only touched pages take memory); knows no operation.
// One writer at a time; recording allocates nothing and takes a few nanoseconds.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace kvdyno {

class Histogram {
 public:
  static constexpr uint64_t kHighest = 3'600'000'000'000;  // larger values count as this one
  static constexpr int kSignificantDigits = 3;

  Histogram();

  void Record(uint64_t value) { Record(value, 1); }

  void Record(uint64_t value, uint64_t times) {
    if (value > kHighest) [[unlikely]]
      value = kHighest;
    counts_[Index(value)] += times;
    count_ += times;
    sum_ += value * times;
    if (value < min_) min_ = value;
    if (value > max_) max_ = value;
  }

  void Merge(const Histogram& other);
  void Reset();

  uint64_t count() const { return count_; }
  uint64_t min() const { return count_ == 0 ? 0 : min_; }  // exact; 0 when empty
  uint64_t max() const { return max_; }                    // exact
  double mean() const;                                     // exact; 0 when empty

  // The value that `percentile` (0..100) percent of the values do not exceed: the upper end of the
  // bucket of rank floor(percentile * count / 100 + 0.5), as HdrHistogram's C and Python versions
  // define it. 0 when empty.
  uint64_t Percentile(double percentile) const;

  // Index i counts the values Lowest(i) .. Highest(i). Values below 2048 have a bucket each;
  // further up, each power of two is cut into 1024.
  static size_t Index(uint64_t value) {
    const int magnitude = std::bit_width(value | (kSubBuckets - 1)) - kSubBucketBits;
    return static_cast<size_t>(magnitude) * (kSubBuckets / 2) +
           static_cast<size_t>(value >> magnitude);
  }
  static uint64_t Lowest(size_t index);
  static uint64_t Highest(size_t index) { return Lowest(index + 1) - 1; }

  uint64_t count_at(size_t index) const { return counts_[index]; }
  // One past the last index that may hold a count.
  size_t used_indices() const { return count_ == 0 ? 0 : Index(max_) + 1; }

 private:
  static constexpr int kSubBucketBits = 11;  // 2048 = the power of two above 2 * 10^3
  static constexpr uint64_t kSubBuckets = uint64_t{1} << kSubBucketBits;

  struct Free {
    void operator()(uint64_t* counts) const { std::free(counts); }
  };

  // From calloc, so that ranges that no value falls into take no memory under the cap.
  std::unique_ptr<uint64_t[], Free> counts_;
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  uint64_t min_ = UINT64_MAX;
  uint64_t max_ = 0;
};

}  // namespace kvdyno
