// Taking and subtracting samples. A Sampler is used by one thread at a time.
#include "measure/sampler.h"

#include <algorithm>

#include "measure/disk.h"

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

std::vector<Counter> Sampler::SampleBorder() {
  std::vector<Counter> counters = Sample();
  if (const std::optional<uint64_t> debt = adapter_->Debt()) {
    counters.push_back({kDebt, static_cast<double>(*debt), "byte", false});
  }
  return counters;
}

std::vector<Event> Sampler::TakeEvents() {
  std::vector<Event> events;
  adapter_->TakeEvents(&events);
  own_events_.Take(&events);
  return events;
}

Counter Sampler::DiskUsed() const {
  return {kDiskUsed, static_cast<double>(AllocatedBytes(data_dir_)), "byte", false};
}

const Counter* Find(const std::vector<Counter>& sample, std::string_view name) {
  const auto found = std::find_if(sample.begin(), sample.end(),
                                  [&](const Counter& counter) { return counter.name == name; });
  return found == sample.end() ? nullptr : &*found;
}

std::vector<Counter> Changes(const std::vector<Counter>& before,
                             const std::vector<Counter>& after) {
  std::vector<Counter> changes = after;
  for (Counter& counter : changes) {
    if (!counter.cumulative) continue;
    if (const Counter* earlier = Find(before, counter.name)) counter.value -= earlier->value;
  }
  return changes;
}

}  // namespace kvdyno
