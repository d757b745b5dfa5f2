// StallLog: turns looks at a store into episodes: stretches in which writes are delayed, or
// stopped, for one cause. Owns the episode under way and the sums; knows neither clock nor store.
// Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kvdyno/api/adapter.h"
#include "pressure.h"

namespace kvdyno::rocks {

class StallLog {
 public:
  // Ended episodes go to *events, which outlives this.
  explicit StallLog(EventLog* events) : events_(events) {}

  // What a look at `now_ns` found; `cause` and `levels` mean nothing without a stall. Looks come in
  // the order of their times.
  void Look(uint64_t now_ns, Stall stall, Cause cause, const Levels& levels);

  // The store is closed: what goes on does not end any more.
  void Finish(uint64_t now_ns);

  // Appends the sums, the episode under way included, as far as it has come.
  void Sample(uint64_t now_ns, std::vector<Counter>* counters) const;

 private:
  struct Episode {
    Stall stall = Stall::kNone;
    Cause cause = Cause::kOther;
    uint64_t begin_ns = 0;
    Levels levels;  // at the begin
  };
  struct Sum {
    uint64_t count = 0;  // of episodes that began
    uint64_t ns = 0;     // of episodes that ended
  };

  void End(uint64_t now_ns, bool ended);
  uint64_t SoFar(uint64_t now_ns) const;
  Sum& of(Stall stall, Cause cause);

  EventLog* const events_;
  Episode current_;                               // Stall::kNone: none
  std::array<std::array<Sum, kCauses>, 2> sums_;  // of delays, of stops
  uint64_t longest_ns_ = 0;
};

}  // namespace kvdyno::rocks
