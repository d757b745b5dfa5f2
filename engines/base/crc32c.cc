#include "kvdyno/base/crc32c.h"

#include <algorithm>
#include <array>

#include "crc32c_ways.h"
#include "kvdyno/base/coding.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#include <wmmintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace kvdyno {
namespace {

// Polynomials over GF(2) of degree below 32, bit-reflected: the highest bit is x^0.
constexpr uint32_t kPolynomial = 0x82f63b78;
constexpr uint32_t kOne = 0x80000000;

constexpr uint32_t TimesX(uint32_t p) { return (p >> 1) ^ ((p & 1) != 0 ? kPolynomial : 0); }

// tables[k][b]: what byte b contributes when k more bytes follow it.
constexpr size_t kSlices = 8;
using Tables = std::array<std::array<uint32_t, 256>, kSlices>;
constexpr Tables MakeTables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t p = byte;
    for (int bit = 0; bit < 8; ++bit) p = TimesX(p);
    tables[0][byte] = p;
  }
  for (size_t slice = 1; slice < kSlices; ++slice) {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const uint32_t p = tables[slice - 1][byte];
      tables[slice][byte] = (p >> 8) ^ tables[0][p & 0xff];
    }
  }
  return tables;
}
constexpr Tables kTables = MakeTables();

uint32_t ExtendByTable(uint32_t state, std::string_view bytes) {
  const char* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) {
    const uint64_t word = LoadFixed<uint64_t>(at) ^ state;
    state = 0;
    for (size_t i = 0; i < kSlices; ++i) {
      state ^= kTables[kSlices - 1 - i][(word >> (8 * i)) & 0xff];
    }
  }
  for (; left > 0; ++at, --left) {
    state = (state >> 8) ^ kTables[0][(state ^ static_cast<unsigned char>(*at)) & 0xff];
  }
  return state;
}

#if defined(__x86_64__)

// The instruction takes three cycles and can start in each: three streams of equal length keep it
// busy, and are then joined. A stream shorter than the minimum does not pay for joining.
constexpr size_t kStreamWordsMin = 4;
constexpr size_t kStreamWordsMax = 171;

// kShift[n] moves a state over n words. A carry-less product of reflected operands is one bit short
// of 64, and the instruction that reduces it multiplies by x^32: hence x^(64n - 33).
using Shifts = std::array<uint32_t, 2 * kStreamWordsMax + 1>;
constexpr Shifts MakeShifts() {
  Shifts shifts{};
  uint32_t power = kOne;
  for (int exponent = 1; exponent <= 64 - 33; ++exponent) power = TimesX(power);
  for (size_t words = 1; words < shifts.size(); ++words) {
    shifts[words] = power;
    for (int bit = 0; bit < 64; ++bit) power = TimesX(power);
  }
  return shifts;
}
constexpr Shifts kShift = MakeShifts();

__attribute__((target("pclmul"))) inline uint64_t Product(uint64_t a, uint32_t b) {
  const __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<int64_t>(a)),
                                               _mm_cvtsi64_si128(int64_t{b}), 0);
  return static_cast<uint64_t>(_mm_cvtsi128_si64(product));
}

// Three streams of `words` words each, one after the other.
__attribute__((target("sse4.2,pclmul"))) inline uint64_t ExtendThree(uint64_t state, const char* at,
                                                                     size_t words) {
  uint64_t second = 0;
  uint64_t third = 0;
  const char* const end = at + 8 * words;
  for (; at != end; at += 8) {
    state = _mm_crc32_u64(state, LoadFixed<uint64_t>(at));
    second = _mm_crc32_u64(second, LoadFixed<uint64_t>(at + 8 * words));
    third = _mm_crc32_u64(third, LoadFixed<uint64_t>(at + 16 * words));
  }
  const uint64_t moved = Product(state, kShift[2 * words]) ^ Product(second, kShift[words]);
  return _mm_crc32_u64(0, moved) ^ third;
}

__attribute__((target("sse4.2,pclmul"))) uint32_t ExtendBySse42(uint32_t state,
                                                                std::string_view bytes) {
  const char* at = bytes.data();
  size_t left = bytes.size();
  uint64_t wide = state;
  while (left >= 24 * kStreamWordsMin) {
    const size_t words = std::min(left / 24, kStreamWordsMax);
    wide = ExtendThree(wide, at, words);
    at += 24 * words;
    left -= 24 * words;
  }
  for (; left >= 8; at += 8, left -= 8) wide = _mm_crc32_u64(wide, LoadFixed<uint64_t>(at));
  auto narrow = static_cast<uint32_t>(wide);
  for (; left > 0; ++at, --left) narrow = _mm_crc32_u8(narrow, static_cast<unsigned char>(*at));
  return narrow;
}

#elif defined(__aarch64__)

__attribute__((target("+crc"))) uint32_t ExtendByArm(uint32_t state, std::string_view bytes) {
  const char* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) state = __crc32cd(state, LoadFixed<uint64_t>(at));
  for (; left > 0; ++at, --left) state = __crc32cb(state, static_cast<unsigned char>(*at));
  return state;
}

#endif

Crc32cWay Fastest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul")) {
    return {"sse4.2", ExtendBySse42};
  }
#elif defined(__aarch64__)
  if ((::getauxval(AT_HWCAP) & HWCAP_CRC32) != 0) return {"arm crc32", ExtendByArm};
#endif
  return {"table", ExtendByTable};
}

const Crc32cWay& Chosen() {
  static const Crc32cWay chosen = Fastest();
  return chosen;
}

}  // namespace

std::vector<Crc32cWay> Crc32cWays() {
  std::vector<Crc32cWay> ways = {Chosen()};
  if (Chosen().extend != ExtendByTable) ways.push_back({"table", ExtendByTable});
  return ways;
}

uint32_t Crc32c(std::string_view bytes, uint32_t crc) { return ~Chosen().extend(~crc, bytes); }

std::string_view Crc32cMethod() { return Chosen().name; }

}  // namespace kvdyno
