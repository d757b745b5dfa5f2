// The probe's thread. It sleeps between calls and never spins: it must not take a CPU from what is
// measured, and what it looks for lasts longer than waking up.
#include "load/probe.h"

#include <cmath>
#include <string>
#include <utility>

#include "kvdyno/base/clock.h"
#include "load/sleep.h"

namespace kvdyno {
namespace {

uint64_t Nanoseconds(double seconds) { return static_cast<uint64_t>(std::llround(seconds * 1e9)); }

}  // namespace

Probe::Probe(std::function<Status()> call, const Pace& pace, EventLog* events, StopSignal* stop)
    : call_(std::move(call)),
      interval_ns_(Nanoseconds(pace.interval)),
      threshold_ns_(Nanoseconds(pace.threshold)),
      events_(events),
      stop_(stop) {}

void Probe::Begin() {
  latencies_ = std::make_shared<Histogram>();
  thread_ = std::jthread([this](const std::stop_token& stopped) { Work(stopped); });
}

std::shared_ptr<const Histogram> Probe::End() {
  thread_.request_stop();
  thread_.join();
  return std::move(latencies_);
}

void Probe::Work(const std::stop_token& stopped) {
  uint64_t intended = NowNs() + interval_ns_;
  while (SleepUntil(intended, stopped)) {
    uint64_t end = 0;
    if (!Call(intended, &end)) return;
    for (; intended <= end; intended += interval_ns_) latencies_->Record(end - intended);
  }
}

bool Probe::Call(uint64_t intended_ns, uint64_t* end_ns) {
  const uint64_t start_ns = NowNs();
  const Status status = call_();
  *end_ns = NowNs();
  if (!status.ok()) {
    stop_->Fail({Status(status.code(), "probe " + status.message())});
    return false;
  }
  // The call alone decides: a thread that wakes up late is no stall.
  const uint64_t call_ns = *end_ns - start_ns;
  if (call_ns > threshold_ns_) {
    events_->Add({.kind = "probe",
                  .begin_ns = intended_ns,
                  .duration_ns = *end_ns - intended_ns,
                  .detail = "call_us=" + std::to_string(call_ns / 1000)});
  }
  return true;
}

}  // namespace kvdyno
