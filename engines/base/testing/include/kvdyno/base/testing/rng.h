// Rng: cheap pseudo-random numbers for tests; the same seed gives the same numbers everywhere.
// Knows nothing. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace kvdyno::testing {

// SplitMix64 (Steele, Lea, Flood 2014): one step also serves as a hash.
inline uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class Rng {
 public:
  explicit Rng(uint64_t seed) : state_(Mix(seed)) {}

  uint64_t Next() { return Mix(state_ += 0x9e3779b97f4a7c15u); }
  // In [0, n); n is at least 1.
  uint64_t Below(uint64_t n) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<uint64_t>((static_cast<Wide>(Next()) * n) >> 64);
  }
  uint64_t Between(uint64_t low, uint64_t high) { return low + Below(high - low + 1); }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  // In [1, limit], each power of two as likely as the next.
  uint64_t Skewed(uint64_t limit) {
    uint64_t bits = 0;
    while (limit >> bits) ++bits;
    const uint64_t value = Below(uint64_t{1} << Between(1, bits)) + 1;
    return value < limit ? value : limit;
  }
  template <typename T>
  T Pick(std::initializer_list<T> choices) {
    return choices.begin()[Below(choices.size())];
  }

 private:
  uint64_t state_;
};

}  // namespace kvdyno::testing
