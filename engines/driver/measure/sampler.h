// Sampler: everything that counts while a run goes on: the process, its cgroup, the engine.
// Owns nothing but paths; borrows the engine, which must be open while samples are taken.
// One thread at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kvdyno/api/engine.h"
#include "measure/kernel.h"

namespace kvdyno {

// Names of counters that metrics are made of.
inline constexpr const char* kDebt = "debt";
inline constexpr const char* kDiskUsed = "disk.used";
inline constexpr const char* kLogLength = "engine.log_length";

// Null when the sample has no such counter.
const Counter* Find(const std::vector<Counter>& sample, std::string_view name);

class Sampler {
 public:
  Sampler(Engine* engine, std::string data_dir);

  // Names are those of docs/formats.md; the engine's counters are prefixed "engine.".
  std::vector<Counter> Sample();

  // The same, and `debt` where the engine knows it: for the border between two phases. Latencies by
  // component are those of gets since the border before.
  std::vector<Counter> SampleBorder();

  // What happened since the last call, in the engine and beside it. May also be called once after
  // the engine was closed.
  std::vector<Event> TakeEvents();

  // For events that the driver sees itself. Safe from any thread.
  EventLog& own_events() { return own_events_; }

  // `disk.used`, which takes a walk through the store's folder. Safe from any thread.
  Counter DiskUsed() const;

 private:
  Engine* const engine_;
  const std::string data_dir_;
  const Cgroup cgroup_;
  EventLog own_events_;
  std::vector<ComponentLatency> components_;  // at the last border
};

// component.<name>.{p50,p95,p99}_us, the ends of the buckets that hold them, and .timed, how many gets
// were: of what was counted between two samples. Components without a get have none.
void AppendComponents(const std::vector<ComponentLatency>& before,
                      const std::vector<ComponentLatency>& after, std::vector<Counter>* counters);

// What happened between two samples: differences of cumulative counters, and the later levels.
std::vector<Counter> Changes(const std::vector<Counter>& before, const std::vector<Counter>& after);

}  // namespace kvdyno
