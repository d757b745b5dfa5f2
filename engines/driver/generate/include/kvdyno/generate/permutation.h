// Permutation: a pseudo-random bijection of [0, count), computed, not stored.
// Scatters popularity ranks over the real key range, so that no key is lost or drawn twice.
// Immutable; safe from any thread.
#pragma once

#include <bit>
#include <cassert>
#include <cstdint>

#include "kvdyno/base/random.h"

namespace kvdyno {

class Permutation {
 public:
  // count > 0.
  Permutation(uint64_t count, uint64_t seed) : count_(count) {
    assert(count > 0);
    const int bits = std::bit_width(count - 1);
    mask_ = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
    shift_ = bits / 2 + 1;
    for (Round& round : rounds_) {
      round.add = Mix(seed++);
      round.multiply = Mix(seed++) | 1;
    }
  }

  // i < count.
  uint64_t operator()(uint64_t i) const {
    assert(i < count_);
    // The rounds permute the power of two that encloses the range. A value outside the range is
    // permuted on: its cycle leads back inside, and no two inputs arrive at the same place.
    do {
      i = Scramble(i);
    } while (i >= count_);
    return i;
  }

 private:
  struct Round {
    uint64_t add;
    uint64_t multiply;  // odd, hence a bijection modulo a power of two
  };

  uint64_t Scramble(uint64_t x) const {
    for (const Round& round : rounds_) {
      x = ((x + round.add) * round.multiply) & mask_;
      x ^= x >> shift_;
    }
    return x;
  }

  uint64_t count_;
  uint64_t mask_;
  int shift_;
  Round rounds_[4];
};

}  // namespace kvdyno
