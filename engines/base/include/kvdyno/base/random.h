// Random: the generator behind every draw of drivers and samplers.
// Owns 256 bits of state and nothing else; the same seed gives the same draws everywhere.
// One object per thread.
#pragma once

#include <bit>
#include <cassert>
#include <cstdint>

namespace kvdyno {

// A bijection of the 64-bit numbers that leaves no visible relation between input and output
// (the finalizer of SplitMix64, Steele et al. 2014).
inline constexpr uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// The upper half of a 128-bit product: maps a uniform 64-bit `x` to [0, n), with a bias of at
// most n / 2^64.
inline uint64_t MultiplyHigh(uint64_t x, uint64_t n) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(x) * n) >> 64);
}

// xoshiro256** (Blackman and Vigna 2018), seeded by SplitMix64 as its authors advise.
class Random {
 public:
  explicit Random(uint64_t seed) {
    for (uint64_t& word : state_) {
      word = Mix(seed);
      seed += 0x9e3779b97f4a7c15u;
    }
  }

  // Uniform over all 64-bit numbers.
  uint64_t Next() {
    const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // Uniform in [0, 1), a multiple of 2^-53.
  double Real() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

  // Uniform in [0, n), without bias (Lemire 2019). n > 0.
  uint64_t Below(uint64_t n) {
    assert(n > 0);
    unsigned __int128 product = static_cast<unsigned __int128>(Next()) * n;
    if (static_cast<uint64_t>(product) < n) {
      const uint64_t excess = -n % n;
      while (static_cast<uint64_t>(product) < excess) {
        product = static_cast<unsigned __int128>(Next()) * n;
      }
    }
    return static_cast<uint64_t>(product >> 64);
  }

 private:
  uint64_t state_[4];
};

}  // namespace kvdyno
