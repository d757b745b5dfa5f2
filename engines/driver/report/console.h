// What a person at a terminal sees: YCSB-cpp's lines.
// Owns nothing; texts only, so that tests read them.
// Safe from any thread.
#pragma once

#include <ctime>
#include <string>

#include "measure/tally.h"

namespace kvdyno {

// "2020-09-10 12:00:00 10 sec: 12345 operations; [READ: Count=... Max=... Min=... Avg=... 90=...
// 99=... 99.9=... 99.99=...]": latencies in microseconds, over the phase so far.
std::string StatusLine(std::time_t now, double elapsed_seconds, const Tally& tally);

// YCSB-cpp's last three lines. `what` is "Load" or "Run".
std::string FinalLines(const std::string& what, double seconds, uint64_t operations);

}  // namespace kvdyno
