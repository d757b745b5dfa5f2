#include "stalls.h"

#include <algorithm>
#include <string>

namespace kvdyno::rocks {

namespace {

constexpr std::array<Stall, 2> kStalls = {Stall::kDelay, Stall::kStop};

size_t IndexOf(Stall stall) { return stall == Stall::kStop ? 1 : 0; }
size_t IndexOf(Cause cause) { return static_cast<size_t>(cause); }

std::string DetailOf(const Levels& levels) {
  return "immutables=" + std::to_string(levels.immutable_memtables) +
         " level0_files=" + std::to_string(levels.level0_files) +
         " pending_bytes=" + std::to_string(levels.pending_bytes);
}

}  // namespace

void StallLog::Look(uint64_t now_ns, Stall stall, Cause cause, const Levels& levels) {
  if (current_.stall == stall && (current_.cause == cause || stall == Stall::kNone)) return;
  if (current_.stall != Stall::kNone) End(now_ns, true);
  if (stall == Stall::kNone) return;
  current_ = {stall, cause, now_ns, levels};
  ++of(stall, cause).count;
}

void StallLog::Finish(uint64_t now_ns) {
  if (current_.stall != Stall::kNone) End(now_ns, false);
}

void StallLog::End(uint64_t now_ns, bool ended) {
  const uint64_t ns = SoFar(now_ns);
  of(current_.stall, current_.cause).ns += ns;
  longest_ns_ = std::max(longest_ns_, ns);
  events_->Add({.kind = "stall",
                .begin_ns = current_.begin_ns,
                .duration_ns = ns,
                .state = std::string(kStallNames[static_cast<size_t>(current_.stall)]),
                .cause = std::string(kCauseNames[IndexOf(current_.cause)]),
                .detail = DetailOf(current_.levels),
                .ended = ended});
  current_ = {};
}

void StallLog::Sample(uint64_t now_ns, std::vector<Counter>* counters) const {
  const auto add = [&](const std::string& name, double value, const char* unit, bool cumulative) {
    counters->push_back({name, value, unit, cumulative});
  };
  const auto micros = [](uint64_t ns) { return static_cast<double>(ns) / 1000; };
  for (const Stall stall : kStalls) {
    const std::string name(kStallNames[static_cast<size_t>(stall)]);
    Sum total;
    for (size_t i = 0; i < kCauses; ++i) {
      Sum sum = sums_[IndexOf(stall)][i];
      if (current_.stall == stall && IndexOf(current_.cause) == i) {
        sum.ns += SoFar(now_ns);
      }
      const std::string cause(kCauseNames[i]);
      add(name + "s_" + cause, static_cast<double>(sum.count), "count", true);
      add(name + "_" + cause + "_micros", micros(sum.ns), "us", true);
      total.count += sum.count;
      total.ns += sum.ns;
    }
    add(name + "s", static_cast<double>(total.count), "count", true);
    add(name + "_micros", micros(total.ns), "us", true);
  }
  const uint64_t longest = std::max(longest_ns_, SoFar(now_ns));
  add("longest_stall_micros", micros(longest), "us", false);
}

uint64_t StallLog::SoFar(uint64_t now_ns) const {
  return current_.stall == Stall::kNone ? 0 : now_ns - current_.begin_ns;
}

StallLog::Sum& StallLog::of(Stall stall, Cause cause) {
  return sums_[IndexOf(stall)][IndexOf(cause)];
}

}  // namespace kvdyno::rocks
