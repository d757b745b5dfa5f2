// SILK's bandwidth share (Balmau et al., ATC 2019): the clients' load goes in, the rate that is
// left for background writes comes out, and those are paced by their class. Knows no engine, no
// clock and no lock: the caller passes the time since the last call. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace kvdyno::tuners {

// Background work by urgency, the most urgent first.
enum class SilkClass : uint8_t {
  kFlush,   // and all that is not known: never waits
  kLevel0,  // compaction from level 0: the floor is guaranteed to it
  kLevel1,  // compaction from level 1, which level 0's waits for: takes what is left
  kDeep,    // all other compactions: take what is left, and nothing at a peak
};

inline constexpr size_t kSilkClasses = 4;

struct SilkSettings {
  double bandwidth_bytes_per_s = 200e6;  // of the device, for clients and background work together
  double floor_bytes_per_s = 10e6;       // left for background work under any load
  double step_bytes_per_s = 10e6;        // smaller changes of the rate are not made
  double peak_share = 0.75;              // of the bandwidth: a load above it is a peak
};

// What the clients leave.
class SilkShare {
 public:
  explicit SilkShare(const SilkSettings& settings)
      : settings_(settings), rate_(settings.bandwidth_bytes_per_s) {}

  // One look: what clients read and wrote in the time since the last one. True when the rate
  // or the peak changed.
  bool Observe(double client_bytes, double seconds);

  double rate_bytes_per_s() const { return rate_; }
  bool peak() const { return peak_; }

 private:
  const SilkSettings settings_;
  double rate_;
  bool peak_ = false;
};

// Two buckets of bytes: what is left, refilled at the share's rate, and level 0's guarantee. Work
// that does not wait may leave a debt, which later work pays.
class SilkBucket {
 public:
  explicit SilkBucket(const SilkSettings& settings) : settings_(settings) {}

  // Time that has passed at this rate.
  void Refill(double rate_bytes_per_s, double seconds);
  void SetPeak(bool peak) { peak_ = peak; }

  // Takes the bytes, or returns false: wait, and say so by AddWaiter, so that less urgent work does
  // not come first.
  bool TryTake(SilkClass work, double bytes);
  // Takes them in any case.
  void Take(double bytes);

  void AddWaiter(SilkClass work) { waiters_[Index(work)]++; }
  void RemoveWaiter(SilkClass work) { waiters_[Index(work)]--; }
  int waiters(SilkClass work) const { return waiters_[Index(work)]; }

 private:
  static size_t Index(SilkClass work) { return static_cast<size_t>(work); }
  bool MoreUrgentWaits(SilkClass work) const;

  const SilkSettings settings_;
  double left_bytes_ = 0;
  double guaranteed_bytes_ = 0;
  bool peak_ = false;
  std::array<int, kSilkClasses> waiters_{};
};

}  // namespace kvdyno::tuners
