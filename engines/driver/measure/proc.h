// What the kernel counts for this process: /proc/self and getrusage.
// Owns nothing. Safe from any thread; figures cover all threads together.
#pragma once

#include <string>
#include <vector>

#include "kvdyno/api/adapter.h"

namespace kvdyno {

// Appends io.*, cpu.*, faults.*, switches.* and memory.* as docs/formats.md defines them. What the
// kernel does not offer is left out. `proc_self` is "/proc/self" but for tests.
void SampleProcess(const std::string& proc_self, std::vector<Counter>* counters);

}  // namespace kvdyno
