// Sampler: everything that counts while a run goes on: the process, its cgroup, the engine.
// Owns nothing but paths; borrows the adapter, which must be open while samples are taken.
// One thread at a time.
#pragma once

#include <string>
#include <vector>

#include "kvdyno/api/adapter.h"
#include "measure/cgroup.h"

namespace kvdyno {

class Sampler {
 public:
  Sampler(Adapter* adapter, std::string data_dir);

  // Names are those of docs/formats.md; the engine's counters are prefixed "engine.".
  std::vector<Counter> Sample();

  // What happened since the last call, in the engine and beside it. May also be called once after
  // the adapter was closed.
  std::vector<Event> TakeEvents();

  // For events that the driver sees itself. Safe from any thread.
  EventLog& own_events() { return own_events_; }

  // `disk.used`, which takes a walk through the store's folder. Safe from any thread.
  Counter DiskUsed() const;

 private:
  Adapter* const adapter_;
  const std::string data_dir_;
  const Cgroup cgroup_;
  EventLog own_events_;
};

// What happened between two samples: differences of cumulative counters, and the later levels.
std::vector<Counter> Changes(const std::vector<Counter>& before, const std::vector<Counter>& after);

}  // namespace kvdyno
