// Taking and subtracting samples. A Sampler is used by one thread at a time.
#include "measure/sampler.h"

#include <algorithm>
#include <cmath>

#include "measure/disk.h"

namespace kvdyno {

namespace {

// The upper end of the bucket that holds this share of all.
double PercentileNs(const std::vector<ComponentLatency::Bucket>& buckets, uint64_t count,
                    double share) {
  const auto wanted = static_cast<uint64_t>(std::ceil(share * static_cast<double>(count)));
  uint64_t seen = 0;
  const auto found = std::find_if(buckets.begin(), buckets.end(), [&](const auto& bucket) {
    seen += bucket.count;
    return seen >= wanted;
  });
  return found->ns_max;
}

}  // namespace

Sampler::Sampler(Engine* engine, std::string data_dir)
    : engine_(engine), data_dir_(std::move(data_dir)), cgroup_(Cgroup::OfThisProcess()) {}

std::vector<Counter> Sampler::Sample() {
  std::vector<Counter> counters;
  SampleProcess("/proc/self", &counters);
  cgroup_.Sample(&counters);
  const size_t own = counters.size();
  engine_->Sample(&counters);
  for (size_t i = own; i < counters.size(); ++i) counters[i].name.insert(0, "engine.");
  return counters;
}

std::vector<Counter> Sampler::SampleBorder() {
  std::vector<Counter> counters = Sample();
  if (const std::optional<uint64_t> debt = engine_->Debt()) {
    counters.push_back({kDebt, static_cast<double>(*debt), "byte", false});
  }
  std::vector<ComponentLatency> components;
  engine_->SampleComponents(&components);
  AppendComponents(components_, components, &counters);
  components_ = std::move(components);
  return counters;
}

std::vector<Event> Sampler::TakeEvents() {
  std::vector<Event> events;
  engine_->TakeEvents(&events);
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

void AppendComponents(const std::vector<ComponentLatency>& before,
                      const std::vector<ComponentLatency>& after, std::vector<Counter>* counters) {
  for (size_t i = 0; i < after.size(); ++i) {
    std::vector<ComponentLatency::Bucket> grown = after[i].buckets;
    uint64_t timed = 0;
    for (size_t bucket = 0; bucket < grown.size(); ++bucket) {
      if (!before.empty()) grown[bucket].count -= before[i].buckets[bucket].count;
      timed += grown[bucket].count;
    }
    if (timed == 0) continue;
    const std::string prefix = "component." + after[i].component + ".";
    counters->push_back({prefix + "timed", static_cast<double>(timed), "op", false});
    for (const auto& [name, share] :
         {std::pair("p50_us", 0.5), {"p95_us", 0.95}, {"p99_us", 0.99}}) {
      counters->push_back({prefix + name, PercentileNs(grown, timed, share) / 1000, "us", false});
    }
  }
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
