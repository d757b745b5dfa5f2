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

// What a pair asks every filter: by double hashing (Kirsch and Mitzenmacher 2006).
struct Probes {
  explicit Probes(uint64_t pair_hash) : first(pair_hash), step(kvdyno::Mix(pair_hash) | 1) {}
  Probes(uint64_t key, uint64_t value) : Probes(PairHash(key, value)) {}
  Probes() = default;

  uint64_t first;
  uint64_t step;
};

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

  void Add(Probes probes) {
    if (words_.empty()) return;
    for (int i = 0; i < probes_; ++i, probes.first += probes.step) {
      const uint64_t bit = BitOf(probes.first);
      words_[bit / 64] |= uint64_t{1} << bit % 64;
    }
  }
  bool MayContain(Probes probes) const {
    if (words_.empty()) return true;
    // Half of the bits are set, so that a branch on one is a coin. On three together it is mostly taken.
    int left = probes_;
    for (; left >= 3; left -= 3) {
      const uint64_t second = probes.first + probes.step, third = second + probes.step;
      if ((IsSet(probes.first) & IsSet(second) & IsSet(third)) == 0) return false;
      probes.first = third + probes.step;
    }
    for (; left > 0; --left, probes.first += probes.step) {
      if (IsSet(probes.first) == 0) return false;
    }
    return true;
  }
  size_t bytes() const { return words_.capacity() * sizeof(uint64_t); }

 private:
  uint64_t BitOf(uint64_t hash) const { return kvdyno::MultiplyHigh(hash, words_.size() * 64); }
  uint64_t IsSet(uint64_t hash) const {
    const uint64_t bit = BitOf(hash);
    return words_[bit / 64] >> bit % 64 & 1;
  }

  std::vector<uint64_t> words_;
  int probes_ = 0;
};

}  // namespace sampling
