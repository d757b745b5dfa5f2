// Recorder: hands one client's tallies to the observer without making the client wait.
// Owns two tallies: the client fills one while the observer empties the other. They change
// places when the observer asks and the client, between two operations, agrees.
//
// Threads: Active belongs to the client's thread; Ask, Collect and TakeRest belong to one observer.
#pragma once

#include <atomic>
#include <cstdint>

#include "measure/tally.h"

namespace kvdyno {

class alignas(kCacheLine) Recorder {
 public:
  explicit Recorder(const TallyShape& shape) : tallies_{Tally(shape), Tally(shape)} {}

  // Client: the tally to fill with the next operation; may be another one each time.
  Tally& Active() {
    const uint32_t wanted = wanted_.load(std::memory_order_acquire);
    if (wanted != active_) [[unlikely]] {
      active_ = wanted;
      agreed_.store(wanted, std::memory_order_release);
    }
    return tallies_[active_];
  }

  // Observer: asks the client to change tallies. Until it has agreed, asking again does nothing.
  void Ask() {
    const uint32_t wanted = wanted_.load(std::memory_order_relaxed);
    if (agreed_.load(std::memory_order_acquire) != wanted) return;
    wanted_.store(1 - wanted, std::memory_order_release);
  }

  // Observer: moves into *total what the client left behind when it last agreed. False while it
  // has not agreed (it is inside a long operation): its figures then come with a later call.
  bool Collect(Tally* total) {
    const uint32_t wanted = wanted_.load(std::memory_order_relaxed);
    if (agreed_.load(std::memory_order_acquire) != wanted) return false;
    Move(&tallies_[1 - wanted], total);
    return true;
  }

  // Observer, while the client is between phases (and a lock or join has ordered the two): moves
  // everything.
  void TakeRest(Tally* total) {
    for (Tally& tally : tallies_) Move(&tally, total);
  }

 private:
  static void Move(Tally* from, Tally* to) {
    to->Merge(*from);
    from->Reset();
  }

  // A line per writer: the client only ever reads the first one, and writes the second one once
  // per change.
  alignas(kCacheLine) std::atomic<uint32_t> wanted_{0};
  alignas(kCacheLine) std::atomic<uint32_t> agreed_{0};
  alignas(kCacheLine) uint32_t active_ = 0;
  Tally tallies_[2];
};

}  // namespace kvdyno
