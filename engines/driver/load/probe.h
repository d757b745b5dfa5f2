// Probe: writes one small record again and again at a fixed rate, whatever the clients do, and so
// sees each stretch in which no write comes through, whether or not an engine counts it.
// Owns its session and one thread while it works; reports slow writes to an EventLog and an
// engine's error to the stop signal.
//
// The record lies below all keys of the workload: no scan and no check of data meets it, it makes
// no key of theirs popular, and its writes are a few bytes each.
//
// Threads: Begin and End are for the main thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <thread>

#include "kvdyno/api/adapter.h"
#include "load/stop_signal.h"
#include "measure/histogram.h"

namespace kvdyno {

class Probe {
 public:
  // Keys of a workload begin with a character above this one.
  static constexpr std::string_view kKey = "!probe";

  // Seconds between intended writes, and from which duration of the call on one is reported as an
  // event.
  struct Pace {
    double interval = 0;
    double threshold = 0;
  };

  Probe(std::unique_ptr<Session> session, const Pace& pace, EventLog* events, StopSignal* stop);

  // Starts writing.
  void Begin();

  // Ends when the write under way has. Latencies from the intended starts: those that came and
  // went during a slow write count too, though no write was made for them, so that the histogram
  // holds what a writer at any of these times would have seen.
  std::shared_ptr<const Histogram> End();

 private:
  void Work(const std::stop_token& stopped);
  // False when the engine failed.
  bool Write(uint64_t intended_ns, uint64_t* end_ns);

  const std::unique_ptr<Session> session_;
  const uint64_t interval_ns_;
  const uint64_t threshold_ns_;
  EventLog* const events_;
  StopSignal* const stop_;
  uint64_t writes_ = 0;
  std::shared_ptr<Histogram> latencies_;
  std::jthread thread_;
};

}  // namespace kvdyno
