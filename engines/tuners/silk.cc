#include "kvdyno/tuners/silk.h"

#include <algorithm>
#include <cmath>

namespace kvdyno::tuners {

namespace {

// What may be saved up while nothing is written, and what may be owed: a burst of flushes must not
// silence compactions for longer.
constexpr double kSavedSeconds = 0.1;
constexpr double kOwedSeconds = 1;

}  // namespace

bool SilkShare::Observe(double client_bytes, double seconds) {
  if (seconds <= 0) return false;
  const double load = client_bytes / seconds;
  const double left = std::max(settings_.floor_bytes_per_s, settings_.bandwidth_bytes_per_s - load);
  const bool peak = load > settings_.peak_share * settings_.bandwidth_bytes_per_s;
  const bool adjusts = std::abs(left - rate_) >= settings_.step_bytes_per_s;
  const bool changes = adjusts || peak != peak_;
  if (adjusts) rate_ = left;
  peak_ = peak;
  return changes;
}

void SilkBucket::Refill(double rate_bytes_per_s, double seconds) {
  const double floor = settings_.floor_bytes_per_s;
  left_bytes_ =
      std::min(left_bytes_ + rate_bytes_per_s * seconds, rate_bytes_per_s * kSavedSeconds);
  left_bytes_ = std::max(left_bytes_, -rate_bytes_per_s * kOwedSeconds);
  guaranteed_bytes_ = std::min(guaranteed_bytes_ + floor * seconds, floor * kSavedSeconds);
}

bool SilkBucket::MoreUrgentWaits(SilkClass work) const {
  return std::any_of(waiters_.begin(), waiters_.begin() + static_cast<ptrdiff_t>(Index(work)),
                     [](int waiters) { return waiters > 0; });
}

bool SilkBucket::TryTake(SilkClass work, double bytes) {
  if (work == SilkClass::kFlush) {
    Take(bytes);
    return true;
  }
  if (work == SilkClass::kDeep && peak_) return false;
  if (left_bytes_ > 0 && !MoreUrgentWaits(work)) {
    Take(bytes);
    return true;
  }
  if (work == SilkClass::kLevel0 && guaranteed_bytes_ > 0) {
    guaranteed_bytes_ -= bytes;
    return true;
  }
  return false;
}

void SilkBucket::Take(double bytes) { left_bytes_ -= bytes; }

}  // namespace kvdyno::tuners
