// How much the tests of the guarantees do: the counts of continuous integration, fewer under sanitizers.
// CHUNKSTORE_TEST_SCALE multiplies them ("10": ten times as much); CHUNKSTORE_TEST_SEED moves the
// first seed. Pure functions of the environment.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>

#include "testing/checkers.h"

#ifndef CHUNKSTORE_TEST_DIVISOR
#define CHUNKSTORE_TEST_DIVISOR 1
#endif

namespace chunkstore::testing {

inline uint64_t Scaled(uint64_t count) {
  double scale = 1.0 / CHUNKSTORE_TEST_DIVISOR;
  if (const char* text = std::getenv("CHUNKSTORE_TEST_SCALE")) scale *= std::atof(text);
  return std::max<uint64_t>(1, static_cast<uint64_t>(static_cast<double>(count) * scale));
}

inline CheckOptions Checks(uint64_t count) {
  CheckOptions options;
  options.count = Scaled(count);
  if (const char* text = std::getenv("CHUNKSTORE_TEST_SEED")) {
    options.seed = std::strtoull(text, nullptr, 10);
  }
  return options;
}

inline void ExpectClean(const Verdict& verdict) {
  std::cout << verdict.ToString() << "\n";
  for (const std::string& violation : verdict.violations) ADD_FAILURE() << violation;
}

}  // namespace chunkstore::testing
