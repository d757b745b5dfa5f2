// Pace: spreads over all writes what writers would else wait for at once.
//
// Where clients write faster than background work can flush and merge, the ring fills, and without
// this, every writer would stop until a stage is free: for a whole round of background work. So
// writes get slower as the ring fills. Where it is three quarters full, they are as fast as bytes
// leave it. Debt beyond its limit slows them down in the same way.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace chunkstore {

class Pace {
 public:
  // What is shorter is not slept, since sleeping has a price.
  static constexpr uint64_t kNapNs = 2'000'000;
  // Nor does a write wait longer for earlier ones, however large they were.
  static constexpr uint64_t kMostNs = 50'000'000;

  // --- by background work
  // A stage that held so many bytes was flushed. `busy`: there was work all the time since the flush
  // before, so the time between is what these bytes take to leave the ring. A stage that was flushed
  // before it was half full shows nothing of that.
  void Flushed(uint64_t bytes, uint64_t capacity, bool busy, uint64_t now_ns);
  // Nanoseconds that a written byte is delayed by for the sake of debt.
  void SetDebt(double ns_per_byte) { debt_.store(ns_per_byte, std::memory_order_relaxed); }

  // --- by writers
  // Under the write lock: so many bytes are written to a ring of which this share is not flushed.
  void Write(size_t bytes, double share);
  // For how long the next write is to wait; 0: not at all.
  uint64_t WaitNs() const;

  // Nanoseconds that a byte is delayed by, all writers together, where this share of the ring is
  // not flushed.
  double DelayNs(double share) const;

 private:
  std::atomic<double> flush_{0};  // nanoseconds that a byte takes to leave a ring that fills
  std::atomic<double> debt_{0};
  uint64_t last_flush_ns_ = 0;       // background work only
  std::atomic<uint64_t> due_ns_{0};  // when what was written so far should have come
};

}  // namespace chunkstore
