// RunFiles: what a run writes beside outcome.json: series.csv, events.csv and latency.hlog.
// Owns the table of events; the series goes to the observer. Knows no engine.
// One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kvdyno/base/status.h"
#include "measure/sampler.h"
#include "report/event_table.h"
#include "report/outcome.h"
#include "report/series.h"
#include "settings/common_settings.h"

namespace kvdyno {

// The wall clock, as outcomes state times.
double UnixSeconds();

class RunFiles {
 public:
  // `started_ns` (events' clock) and `started_at` (Unix seconds) are the driver's start.
  RunFiles(const CommonSettings& settings, uint64_t started_ns, double started_at)
      : settings_(settings), started_ns_(started_ns), started_at_(started_at) {}

  // Begins series and events, and enters both in the outcome. Nothing without an output.dir.
  Status Create(const TallyShape& shape, const std::vector<Counter>& sample, Outcome* outcome);

  // Null: not written. The series can be taken once.
  std::unique_ptr<Series> TakeSeries() { return std::move(series_); }
  EventTable* events() { return events_.get(); }

  // Once the engine is closed: its last events, and the histograms of all phases. The first error of both.
  Status Finish(Sampler* sampler, Outcome* outcome);

 private:
  // Spans are left out: their histograms are sums.
  Status WriteHistograms(Outcome* outcome);

  const CommonSettings& settings_;
  const uint64_t started_ns_;
  const double started_at_;
  std::unique_ptr<Series> series_;
  std::unique_ptr<EventTable> events_;
};

}  // namespace kvdyno
