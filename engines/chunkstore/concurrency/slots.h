// Slots: who is inside the store right now. One cache line per running operation serves two ends:
//  - memory reclamation by epochs: an object that readers reach without locks is retired, and freed
//    once every operation that was inside at that moment has left;
//  - the pending-operations array of the published design (EvenDB, section 3.1): a put shows its
//    version here while it is in the log but perhaps not yet in every index, and a scan waits for
//    those at or below its own version.
// Knows no store. All methods are safe from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>

#include "entry/entry.h"
#include "kvdyno/base/mutex.h"

namespace chunkstore {

class Slots {
 public:
  static constexpr size_t kSlots = 256;  // operations inside at once; further ones wait for a slot

  // An operation's stay. Not copied, not shared between threads. Short: nothing is freed meanwhile.
  class Pin {
   public:
    explicit Pin(Slots* slots) : slots_(slots), slot_(slots->Enter()) {}
    ~Pin() { slots_->Leave(slot_); }
    Pin(const Pin&) = delete;
    Pin& operator=(const Pin&) = delete;
    // Announces a write; must happen before its version becomes visible to snapshots (by a release
    // store that they acquire). Ends with ClearPending, at the latest with the stay.
    void ShowPending(Version version) {
      slots_->slots_[slot_].pending.store(version, std::memory_order_release);
    }
    void ClearPending() { slots_->slots_[slot_].pending.store(0, std::memory_order_release); }

   private:
    Slots* slots_;
    size_t slot_;
  };

  ~Slots();  // frees what was retired; no operation may be inside

  // Returns when no write at or below `version` is pending. Not from inside a pending write.
  void WaitForPending(Version version) const;
  // The last version up to which no write is pending: `now`, which the clock has reached, or less.
  Version SettledUpTo(Version now) const;

  // Runs `release` once every operation that is inside now has left. Never blocks.
  void Retire(std::function<void()> release);
  template <typename T>
  void RetireObject(T* object) {
    if (object != nullptr) Retire([object] { delete object; });
  }
  // Runs what has become safe; called by background work now and then.
  void Reclaim();
  // Returns when every operation that is inside now has left. Not from inside an operation.
  void WaitForReaders();
  size_t retired() const;

 private:
  struct alignas(64) Slot {
    std::atomic<uint64_t> epoch{0};  // 0: free
    std::atomic<Version> pending{0};
  };
  struct Retired {
    uint64_t epoch;
    std::function<void()> release;
  };

  size_t Enter();
  void Leave(size_t slot) {
    slots_[slot].pending.store(0, std::memory_order_release);
    slots_[slot].epoch.store(0, std::memory_order_release);
  }
  bool TryEnter(size_t slot, uint64_t epoch);
  uint64_t OldestEpochInside() const;  // UINT64_MAX: none

  std::array<Slot, kSlots> slots_;
  alignas(64) std::atomic<uint64_t> epoch_{1};  // rises with every Retire
  std::atomic<size_t> used_slots_{0};           // those from here on were never taken
  mutable kvdyno::Mutex mutex_;
  std::deque<Retired> retired_ KVDYNO_GUARDED_BY(mutex_);  // epochs ascending
};

}  // namespace chunkstore
