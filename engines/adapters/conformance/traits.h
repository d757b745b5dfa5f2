// What the suite must know of an engine before it can judge it; set in the engine's CMake call.
#pragma once

namespace kvdyno::conformance {

struct Traits {
  bool rows_have_keys;  // false: the engine's interface returns scanned values without their keys
};

// Defined once per test binary, in traits.cc.
extern const Traits kTraits;

}  // namespace kvdyno::conformance
