// Progress: lines of JSON on a pipe, for the process that waits for this one.
// Owns nothing: the descriptor belongs to the process that started the driver. A reader that is
// slow or gone loses lines; it never holds up the run. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace kvdyno {

struct ProgressLine {
  std::string phase;
  double elapsed = 0;                   // seconds since the phase began
  std::optional<double> fraction = {};  // 0..1; nothing where the end is not known
  uint64_t operations = 0;              // of this phase
  double rate = 0;                      // op/s over the last interval
};

// One line of docs/formats.md's "progress", without the line's end.
std::string ProgressJson(const ProgressLine& line);

class Progress {
 public:
  // A negative descriptor: none.
  explicit Progress(int fd) : fd_(fd) {}

  void Write(const ProgressLine& line);

 private:
  int fd_;
};

}  // namespace kvdyno
