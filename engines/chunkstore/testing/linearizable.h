// Whether a history of reads and writes of one register is linearizable.
// Writes have unique values, but for deletions, which all write "absent". Exact for values (Gibbons
// and Korach 1997, zones); for reads of "absent" the necessary conditions. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "testing/data.h"

namespace chunkstore::testing {

// One operation on the register; times of one clock, invoke <= response.
struct Event {
  uint64_t invoke = 0, response = 0;
  ValueId id = kAbsent;  // written or read
  bool write = false;
};

// What is wrong, or nothing. The register is absent at first.
std::string JudgeRegister(const std::vector<Event>& events);

}  // namespace chunkstore::testing
