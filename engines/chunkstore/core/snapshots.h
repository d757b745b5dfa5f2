// Snapshots: the versions that are still read at.
// Garbage collection asks for them before it decides; a version is registered before it is read at.
// Safe from any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <set>
#include <vector>

#include "chunkstore/store.h"
#include "entry/entry.h"
#include "kvdyno/base/mutex.h"

namespace chunkstore {

class Snapshots {
 public:
  explicit Snapshots(const std::atomic<Version>* clock) : clock_(clock) {}

  // This moment, registered until Release. A collector that asked earlier knows that later
  // snapshots are at or above the clock that it saw.
  Version Acquire() {
    const kvdyno::MutexLock lock(mutex_);
    const Version version = clock_->load();
    live_.insert(version);
    return version;
  }
  // A version that is held now, registered once more.
  void AcquireAt(Version version) {
    const kvdyno::MutexLock lock(mutex_);
    live_.insert(version);
  }
  void Release(Version version) {
    const kvdyno::MutexLock lock(mutex_);
    live_.erase(live_.find(version));
  }
  // Ascending, without repetitions; *now is the clock at that moment.
  std::vector<Version> Live(Version* now) const {
    const kvdyno::MutexLock lock(mutex_);
    *now = clock_->load();
    std::vector<Version> live(live_.begin(), live_.end());
    live.erase(std::unique(live.begin(), live.end()), live.end());
    return live;
  }
  size_t count() const {
    const kvdyno::MutexLock lock(mutex_);
    return live_.size();
  }

 private:
  const std::atomic<Version>* clock_;
  mutable kvdyno::Mutex mutex_;
  std::multiset<Version> live_ KVDYNO_GUARDED_BY(mutex_);
};

// Holds one for a scope.
class SnapshotHold {
 public:
  explicit SnapshotHold(Snapshots* snapshots)
      : snapshots_(snapshots), version_(snapshots->Acquire()) {}
  // A version that is held now.
  SnapshotHold(Snapshots* snapshots, Version version) : snapshots_(snapshots), version_(version) {
    snapshots->AcquireAt(version);
  }
  ~SnapshotHold() { snapshots_->Release(version_); }
  SnapshotHold(const SnapshotHold&) = delete;
  SnapshotHold& operator=(const SnapshotHold&) = delete;
  Version version() const { return version_; }

 private:
  Snapshots* snapshots_;
  Version version_;
};

// What a read at the user's snapshot, or at this moment if there is none, holds while it lasts.
inline SnapshotHold Hold(Snapshots* snapshots, const Snapshot* snapshot) {
  if (snapshot == nullptr) return SnapshotHold(snapshots);
  return SnapshotHold(snapshots, snapshot->version());
}

}  // namespace chunkstore
