// Arrivals: when the operations of an open loop are meant to start.
// Owns the schedule of one thread; knows no clock, and never waits.
// One object per thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "kvdyno/base/random.h"
#include "kvdyno/base/status.h"

namespace kvdyno {

// From `at_seconds` of the phase on, all threads together start this many operations a second.
struct RateStep {
  double at_seconds = 0;
  double operations_per_second = 0;
};

// Reads YCSB-cpp's rate file: lines "timestamp_seconds new_ops_per_second", timestamps ascending;
// empty lines and # comments are skipped. InvalidArgument names `source` (the file) and the line.
Status ParseRateSteps(std::string_view text, std::string_view source, std::vector<RateStep>* steps);

struct ArrivalSpec {
  bool poisson = false;              // false: evenly spaced
  double operations_per_second = 0;  // of all threads; 0 when a step sets it from the start
  std::vector<RateStep> steps = {};  // ascending in time
  uint64_t thread = 0;               // this thread, of so many, gets an equal share
  uint64_t thread_count = 1;
};

class Arrivals {
 public:
  // InvalidArgument when a rate is not positive, or the rate at the start is not given.
  static Status Make(const ArrivalSpec& spec, Arrivals* arrivals);

  // The next intended start, in nanoseconds since the phase began; never descends. Evenly spaced
  // arrivals of all threads together are evenly spaced too, and draw nothing from `random`.
  uint64_t NextNs(Random& random);

  // How many more intended starts come before this moment of the phase; of Poisson arrivals, how
  // many are to be expected.
  uint64_t CountBefore(uint64_t ns) const;

  // From now on returns about one in so many intended starts.
  void ThinOut(uint64_t factor) { share_ *= static_cast<double>(factor); }

 private:
  // A stretch of constant rate. Time is mapped to the number of operations due by then, which
  // makes arrivals of a changing rate arrivals of rate one.
  struct Stretch {
    double start_ns;
    double start_operations;
    double operations_per_ns;
  };

  std::vector<Stretch> stretches_;
  size_t current_ = 0;
  bool poisson_ = false;
  double share_ = 1;  // operations of all threads for one of this thread
  double due_ = 0;    // the next arrival, in operations of all threads
};

}  // namespace kvdyno
