// Rates from steps. See the header for who may call what.
#include "measure/rate_curve.h"

#include <algorithm>

namespace kvdyno {

void RateCurve::Merge(const RateCurve& other) {
  while (step_ns_ < other.step_ns_) Widen();
  const size_t narrower = static_cast<size_t>(step_ns_ / other.step_ns_);
  for (size_t i = 0; i < kSteps; ++i) counts_[i / narrower] += other.counts_[i];
}

void RateCurve::Reset() {
  step_ns_ = kStepNs;
  std::fill(counts_.begin(), counts_.end(), 0);
}

// Widths are powers of two times the first one, so that any two curves can be added.
void RateCurve::Widen() {
  for (size_t i = 0; i < kSteps / 2; ++i) counts_[i] = counts_[2 * i] + counts_[2 * i + 1];
  std::fill(counts_.begin() + kSteps / 2, counts_.end(), 0);
  step_ns_ *= 2;
}

// Part of a step counts by its part.
double RateCurve::CountBetween(double from_step, double to_step) const {
  double count = 0;
  for (auto i = static_cast<size_t>(from_step); i < kSteps && static_cast<double>(i) < to_step;
       ++i) {
    const double begin = std::max(from_step, static_cast<double>(i));
    const double end = std::min(to_step, static_cast<double>(i + 1));
    count += static_cast<double>(counts_[i]) * (end - begin);
  }
  return count;
}

std::optional<double> RateCurve::SecondsTo90(double phase_seconds) const {
  constexpr double kLeastSteps = 10;
  const double steps = phase_seconds / step_seconds();
  if (steps < kLeastSteps) return std::nullopt;
  const double third = steps / 3;
  const double final_rate = CountBetween(steps - third, steps) / third;
  if (final_rate <= 0) return std::nullopt;
  return SecondsToNearStep(final_rate, phase_seconds).value_or(phase_seconds);
}

std::optional<double> RateCurve::SecondsToNear(double rate, double phase_seconds) const {
  return SecondsToNearStep(rate * step_seconds(), phase_seconds);
}

std::optional<double> RateCurve::SecondsToNearStep(double operations, double phase_seconds) const {
  constexpr double kNear = 0.9;
  const double steps = phase_seconds / step_seconds();
  const auto window_ns = static_cast<uint64_t>(std::min(1e9, phase_seconds * 1e8));
  const auto window =
      static_cast<double>(std::max<uint64_t>(1, (window_ns + step_ns_ / 2) / step_ns_));
  for (double end = window; end <= steps; ++end) {
    if (CountBetween(end - window, end) / window >= kNear * operations) return end * step_seconds();
  }
  return std::nullopt;
}

}  // namespace kvdyno
