// Probe: makes one small call again and again at a fixed rate, whatever the clients do, and so
// sees each stretch in which no such call comes through, whether or not an engine counts it.
// Owns the call and one thread while it works; reports slow calls to an EventLog and an engine's
// error to the stop signal.
//
// In a store the call writes a record below all keys of the workload: no scan and no check of data
// meets it, it makes no key of theirs popular, and its writes are a few bytes each.
//
// Threads: Begin and End are for the main thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>

#include "kvdyno/api/engine.h"
#include "kvdyno/base/status.h"
#include "load/stop_signal.h"
#include "measure/histogram.h"

namespace kvdyno {

class Probe {
 public:
  // The key of that record. Keys of a workload begin with a character above this one.
  static constexpr std::string_view kKey = "!probe";

  // Seconds between intended calls, and from which duration on one is reported as an event.
  struct Pace {
    double interval = 0;
    double threshold = 0;
  };

  // `call` runs on the probe's thread alone; its failure names what it was about.
  Probe(std::function<Status()> call, const Pace& pace, EventLog* events, StopSignal* stop);

  // Starts calling.
  void Begin();

  // Ends when the call under way has. Latencies from the intended starts: those that came and
  // went during a slow call count too, though no call was made for them, so that the histogram
  // holds what a caller at any of these times would have seen.
  std::shared_ptr<const Histogram> End();

 private:
  void Work(const std::stop_token& stopped);
  // False when the engine failed.
  bool Call(uint64_t intended_ns, uint64_t* end_ns);

  const std::function<Status()> call_;
  const uint64_t interval_ns_;
  const uint64_t threshold_ns_;
  EventLog* const events_;
  StopSignal* const stop_;
  std::shared_ptr<Histogram> latencies_;
  std::jthread thread_;
};

}  // namespace kvdyno
