// Filter: a Bloom filter (Bloom 1970) over the pairs of a shard's tombstones.
// Never denies a pair that it holds. Immutable once built, safe from any thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kvdyno/base/random.h"

namespace sampling {

inline uint64_t PairHash(uint64_t key, uint64_t value) {
  return kvdyno::Mix(kvdyno::Mix(key) + value);
}

class Filter {
 public:
  // Without bits: everything may be in it.
  Filter() = default;
  // For that many pairs and that rate of false positives, in (0, 1]; 1: no bits.
  Filter(size_t pairs, double false_positives) {
    if (pairs == 0 || false_positives >= 1) return;
    probes_ = std::max(1, static_cast<int>(std::lround(-std::log2(false_positives))));
    // The rate is (1 - exp(-probes * pairs / bits))^probes.
    const double set = std::pow(false_positives, 1.0 / probes_);
    const double bits = -static_cast<double>(pairs) * probes_ / std::log1p(-set);
    words_.resize(static_cast<size_t>(bits / 64) + 1);
  }

  void Add(uint64_t hash) {
    const auto set = [this](uint64_t bit) {
      words_[bit / 64] |= uint64_t{1} << bit % 64;
      return true;
    };
    if (!words_.empty()) (void)EachBit(hash, set);
  }
  bool MayContain(uint64_t hash) const {
    const auto is_set = [this](uint64_t bit) { return (words_[bit / 64] >> bit % 64 & 1) != 0; };
    return words_.empty() || EachBit(hash, is_set);
  }
  size_t bytes() const { return words_.capacity() * sizeof(uint64_t); }

 private:
  // Double hashing (Kirsch and Mitzenmacher 2006). Stops at the first bit for which `visit` is false.
  template <typename Visit>
  bool EachBit(uint64_t hash, Visit visit) const {
    if (!visit(kvdyno::MultiplyHigh(hash, words_.size() * 64))) return false;
    const uint64_t step = kvdyno::Mix(hash) | 1;
    for (int i = 1; i < probes_; ++i) {
      hash += step;
      if (!visit(kvdyno::MultiplyHigh(hash, words_.size() * 64))) return false;
    }
    return true;
  }

  std::vector<uint64_t> words_;
  int probes_ = 0;
};

}  // namespace sampling
