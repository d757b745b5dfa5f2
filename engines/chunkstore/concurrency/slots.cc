#include "concurrency/slots.h"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "concurrency/backoff.h"

namespace chunkstore {

// Why nothing is freed while it can be reached. An object is made unreachable (U), then Retire
// raises the epoch from r to r+1 (R); it is freed after a scan of the slots (S) that found no epoch
// <= r. A reader takes its slot with an epoch it read before (T), reads the epoch again (E), then
// follows pointers. R, S, T and E are seq_cst, so they have one order:
//  - S before T (the scan missed the reader): R < S < T < E, so E reads r+1 or later, which
//    synchronises with R, and the reader sees U: it cannot reach the object.
//  - T before S, and the slot shows an epoch > r: the reader read that epoch from R or later; it
//  sees U.
//  - T before S, and the slot shows an epoch <= r: S keeps the object.
//  - The reader has left again: S reads its Leave, or a later T of the same slot (a
//  read-modify-write,
//    so still in Leave's release sequence); all that the reader did happens before the free.
// used_slots_ is raised before T, also seq_cst: a scan that ends below the slot is ordered before
// T.

namespace {

// Where this thread found a free slot last, in whatever Slots that was. Threads start apart, and
// low, so that scans of the slots are short.
size_t& SlotHint() {
  static std::atomic<size_t> threads{0};
  thread_local size_t hint = threads.fetch_add(1, std::memory_order_relaxed) % Slots::kSlots;
  return hint;
}

}  // namespace

Slots::~Slots() {
  for (Retired& retired : retired_) retired.release();
}

bool Slots::TryEnter(size_t slot, uint64_t epoch) {
  size_t used = used_slots_.load();
  while (used <= slot && !used_slots_.compare_exchange_weak(used, slot + 1)) {
  }
  uint64_t free = 0;
  return slots_[slot].epoch.compare_exchange_strong(free, epoch);
}

size_t Slots::Enter() {
  size_t& hint = SlotHint();
  for (;;) {
    const uint64_t epoch = epoch_.load();
    for (size_t i = 0; i < kSlots; ++i) {
      const size_t slot = (hint + i) % kSlots;
      if (slots_[slot].epoch.load(std::memory_order_relaxed) == 0 && TryEnter(slot, epoch)) {
        hint = slot;
        (void)epoch_.load();  // E in the argument above
        return slot;
      }
    }
    std::this_thread::yield();
  }
}

uint64_t Slots::OldestEpochInside() const {
  uint64_t oldest = UINT64_MAX;
  const size_t used = used_slots_.load();
  for (size_t i = 0; i < used; ++i) {
    const uint64_t epoch = slots_[i].epoch.load();
    if (epoch != 0) oldest = std::min(oldest, epoch);
  }
  return oldest;
}

void Slots::WaitForPending(Version version) const {
  const size_t used = used_slots_.load();
  for (size_t i = 0; i < used; ++i) {
    Backoff backoff;
    for (;;) {
      const Version pending = slots_[i].pending.load(std::memory_order_acquire);
      if (pending == 0 || pending > version) break;
      backoff.Wait();
    }
  }
}

Version Slots::SettledUpTo(Version now) const {
  Version settled = now;
  const size_t used = used_slots_.load();
  for (size_t i = 0; i < used; ++i) {
    const Version pending = slots_[i].pending.load(std::memory_order_acquire);
    if (pending != 0) settled = std::min(settled, pending - 1);
  }
  return settled;
}

void Slots::Retire(std::function<void()> release) {
  const kvdyno::MutexLock lock(mutex_);  // keeps the queue ascending
  retired_.push_back({epoch_.fetch_add(1), std::move(release)});
}

void Slots::Reclaim() {
  std::vector<std::function<void()>> safe;
  {
    const kvdyno::MutexLock lock(mutex_);
    if (retired_.empty()) return;
    const uint64_t oldest = OldestEpochInside();
    while (!retired_.empty() && retired_.front().epoch < oldest) {
      safe.push_back(std::move(retired_.front().release));
      retired_.pop_front();
    }
  }
  for (const auto& release : safe) release();
}

void Slots::WaitForReaders() {
  const uint64_t epoch = epoch_.fetch_add(1);
  Backoff backoff;
  while (OldestEpochInside() <= epoch) backoff.Wait();
}

size_t Slots::retired() const {
  const kvdyno::MutexLock lock(mutex_);
  return retired_.size();
}

}  // namespace chunkstore
