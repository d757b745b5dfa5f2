// RateCurve: how many operations of a phase ended in each of equal steps of its time.
// Owns a fixed number of steps, which double in width when the phase outgrows them; knows neither
// clocks nor operations. Adding allocates nothing.
// One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

namespace kvdyno {

class RateCurve {
 public:
  static constexpr uint64_t kStepNs = 100'000'000;  // of a young curve
  static constexpr size_t kSteps = 1024;

  RateCurve() : counts_(kSteps) {}

  // `operations` ended at `ns` of the phase, or before it in the same step.
  void Add(uint64_t ns, uint64_t operations) {
    while (ns / step_ns_ >= kSteps) Widen();
    counts_[ns / step_ns_] += operations;
  }
  // The end of the step that `ns` lies in.
  uint64_t StepEnd(uint64_t ns) const { return (ns / step_ns_ + 1) * step_ns_; }

  void Merge(const RateCurve& other);
  void Reset();

  // Seconds from the phase's start to the first moment at which the rate over the last second (over
  // a tenth of a phase shorter than ten seconds, in whole steps) was at least 90 % of the final
  // rate: that of the last third of the phase. Nothing for a phase of less than ten steps, or when
  // its last third had no operations.
  std::optional<double> SecondsTo90(double phase_seconds) const;

  // Seconds from the phase's start to the first moment at which the rate over the same window was at
  // least 90 % of this one, in operations a second. Nothing when it never was.
  std::optional<double> SecondsToNear(double rate, double phase_seconds) const;

  uint64_t total() const { return std::accumulate(counts_.begin(), counts_.end(), uint64_t{0}); }
  uint64_t step_ns() const { return step_ns_; }

 private:
  void Widen();
  // As SecondsToNear, of a rate in operations a step.
  std::optional<double> SecondsToNearStep(double operations, double phase_seconds) const;
  double step_seconds() const { return static_cast<double>(step_ns_) * 1e-9; }
  double CountBetween(double from_step, double to_step) const;

  uint64_t step_ns_ = kStepNs;
  std::vector<uint64_t> counts_;
};

}  // namespace kvdyno
