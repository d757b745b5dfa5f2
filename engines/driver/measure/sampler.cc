// Taking and subtracting samples. A Sampler is used by one thread at a time.
#include "measure/sampler.h"

#include <algorithm>

#include "measure/disk.h"
#include "measure/proc.h"

namespace kvdyno {

Sampler::Sampler(Adapter* adapter, std::string data_dir)
    : adapter_(adapter), data_dir_(std::move(data_dir)), cgroup_(Cgroup::OfThisProcess()) {}

std::vector<Counter> Sampler::Sample() {
  std::vector<Counter> counters;
  SampleProcess("/proc/self", &counters);
  cgroup_.Sample(&counters);
  const size_t own = counters.size();
  adapter_->Sample(&counters);
  for (size_t i = own; i < counters.size(); ++i) counters[i].name.insert(0, "engine.");
  return counters;
}

std::vector<Event> Sampler::TakeEvents() {
  std::vector<Event> events;
  adapter_->TakeEvents(&events);
  own_events_.Take(&events);
  return events;
}

Counter Sampler::DiskUsed() const {
  return {"disk.used", static_cast<double>(AllocatedBytes(data_dir_)), "byte", false};
}

std::vector<Counter> Changes(const std::vector<Counter>& before,
                             const std::vector<Counter>& after) {
  std::vector<Counter> changes = after;
  for (Counter& counter : changes) {
    if (!counter.cumulative) continue;
    const auto earlier = std::find_if(before.begin(), before.end(),
                                      [&](const Counter& c) { return c.name == counter.name; });
    if (earlier != before.end()) counter.value -= earlier->value;
  }
  return changes;
}

}  // namespace kvdyno
