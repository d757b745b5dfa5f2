// PhaseResult: what one phase, or a span of phases, did; and the metrics that follow from it.
// Plain values; knows neither files nor how they are written.
// One thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kvdyno/api/engine.h"
#include "measure/background_writes.h"
#include "measure/rate_curve.h"
#include "measure/tally.h"

namespace kvdyno {

struct PhaseResult {
  std::string name;
  std::vector<std::string> covers;  // of a span: the names of its phases
  double started_at = 0;            // Unix seconds
  uint64_t start_ns = 0;            // of the monotonic clock
  double seconds = 0;
  std::optional<double> open_seconds = {};      // of the first phase: what opening the store took
  std::shared_ptr<const Tally> tally;           // null: no client worked
  std::shared_ptr<const Histogram> probe = {};  // null: no probe, or no client worked
  std::shared_ptr<const BackgroundWrites> background = {};  // null: no such writes
  std::shared_ptr<const RateCurve> curve = {};              // null: no client worked, or a span
  std::vector<Counter> before;                              // samples at the borders
  std::vector<Counter> after;
};

// The clients' work, which comes first, and what the engine did of it afterwards, as one: from the
// first start to the last end, so that nothing in between is free.
PhaseResult MakeSpan(std::string name, std::span<const PhaseResult> phases);

struct Metric {
  double value = 0;
  std::string unit;
};

// Every metric of docs/formats.md that this phase has.
std::map<std::string, Metric> MetricsOf(const PhaseResult& phase);

}  // namespace kvdyno
