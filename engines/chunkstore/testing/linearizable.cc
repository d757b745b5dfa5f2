#include "testing/linearizable.h"

#include <algorithm>
#include <unordered_map>

namespace chunkstore::testing {
namespace {

// From when to when all operations on one value surely stretch. Forward: the value was certainly
// there from `low` to `high`. Backward: it was there at some moment between.
struct Zone {
  uint64_t low, high;
  ValueId id;
};

struct Cluster {
  bool written = false;
  uint64_t write_invoke = 0;
  uint64_t first_response = UINT64_MAX, last_invoke = 0;
  uint64_t first_read_response = UINT64_MAX;
};

struct Zones {
  std::vector<Zone> forward, backward;
};

std::string ZonesOf(const std::vector<Event>& events, Zones* zones) {
  std::unordered_map<ValueId, Cluster> clusters;
  for (const Event& event : events) {
    if (event.id == kAbsent) {
      zones->backward.push_back({event.invoke, event.response, kAbsent});
      continue;
    }
    Cluster& cluster = clusters[event.id];
    cluster.first_response = std::min(cluster.first_response, event.response);
    cluster.last_invoke = std::max(cluster.last_invoke, event.invoke);
    if (event.write) {
      cluster.written = true;
      cluster.write_invoke = event.invoke;
    } else {
      cluster.first_read_response = std::min(cluster.first_read_response, event.response);
    }
  }
  for (const auto& [id, cluster] : clusters) {
    if (!cluster.written) return "a read returned " + Describe(id) + ", which no client wrote";
    if (cluster.first_read_response < cluster.write_invoke) {
      return "a read returned " + Describe(id) + " before it was written";
    }
    if (cluster.first_response < cluster.last_invoke) {
      zones->forward.push_back({cluster.first_response, cluster.last_invoke, id});
    } else {
      zones->backward.push_back({cluster.last_invoke, cluster.first_response, id});
    }
  }
  return {};
}

std::string JudgeZones(Zones* zones) {
  std::vector<Zone>& forward = zones->forward;
  const auto before = [](const Zone& a, const Zone& b) { return a.low < b.low; };
  std::sort(forward.begin(), forward.end(), before);
  for (size_t i = 1; i < forward.size(); ++i) {
    if (forward[i].low < forward[i - 1].high) {
      return Describe(forward[i - 1].id) + " was read after " + Describe(forward[i].id) +
             " had replaced it, or the reverse";
    }
  }
  for (const Zone& zone : zones->backward) {
    auto next = std::lower_bound(forward.begin(), forward.end(), zone, before);
    if (next == forward.begin()) continue;
    const Zone& around = *--next;
    if (around.low < zone.low && zone.high < around.high) {
      return Describe(around.id) + " was there before and after " + Describe(zone.id);
    }
  }
  return {};
}

// A read of "absent" needs a deletion that is not surely overwritten before the read begins, or no
// write at all before it.
std::string JudgeAbsent(const std::vector<Event>& events) {
  std::vector<Event> writes, deletions;
  for (const Event& event : events) {
    if (event.write) writes.push_back(event);
    if (event.write && event.id == kAbsent) deletions.push_back(event);
  }
  std::sort(writes.begin(), writes.end(),
            [](const Event& a, const Event& b) { return a.response < b.response; });
  std::sort(deletions.begin(), deletions.end(),
            [](const Event& a, const Event& b) { return a.invoke < b.invoke; });
  // From here on `invoke` is the latest of all writes so far, `response` that of all deletions so
  // far.
  for (size_t i = 1; i < writes.size(); ++i) {
    writes[i].invoke = std::max(writes[i].invoke, writes[i - 1].invoke);
  }
  for (size_t i = 1; i < deletions.size(); ++i) {
    deletions[i].response = std::max(deletions[i].response, deletions[i - 1].response);
  }
  for (const Event& read : events) {
    if (read.write || read.id != kAbsent) continue;
    const auto done = std::partition_point(
        writes.begin(), writes.end(), [&](const Event& w) { return w.response < read.invoke; });
    if (done == writes.begin()) continue;
    const auto begun =
        std::partition_point(deletions.begin(), deletions.end(),
                             [&](const Event& d) { return d.invoke <= read.response; });
    const uint64_t newest_write = std::prev(done)->invoke;
    if (begun == deletions.begin() || std::prev(begun)->response < newest_write) {
      return "a read found nothing, though a write had finished and no deletion came after it";
    }
  }
  return {};
}

}  // namespace

std::string JudgeRegister(const std::vector<Event>& events) {
  Zones zones;
  std::string wrong = ZonesOf(events, &zones);
  if (wrong.empty()) wrong = JudgeZones(&zones);
  if (wrong.empty()) wrong = JudgeAbsent(events);
  return wrong;
}

}  // namespace chunkstore::testing
