// A rate limiter that RocksDB asks before each background write, and that lets it wait by the
// kind of work that the asking thread does. The rules are kvdyno/tuners/silk.h's; here are the
// lock, the waiting, and its longest duration. Safe from any thread.
#pragma once

#include <rocksdb/rate_limiter.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "kvdyno/tuners/silk.h"

namespace kvdyno::silk {

class Limiter final : public rocksdb::RateLimiter {
 public:
  Limiter(const tuners::SilkSettings& settings, double gate_max_seconds);

  // What the clients leave now.
  void SetShare(double rate_bytes_per_s, bool peak);
  // From now on nothing waits. The store is about to close.
  void Release();

  int deep_waiters() const;
  // Bytes written by a kind of work, and the nanoseconds that it waited.
  uint64_t bytes(tuners::SilkClass work) const;
  uint64_t waited_ns(tuners::SilkClass work) const;

  // What RocksDB asks for.
  void SetBytesPerSecond(int64_t bytes_per_second) override;
  void Request(int64_t bytes, rocksdb::Env::IOPriority priority,
               rocksdb::Statistics* statistics) override;
  int64_t GetSingleBurstBytes() const override { return 1 << 20; }
  int64_t GetTotalBytesThrough(rocksdb::Env::IOPriority priority) const override;
  int64_t GetTotalRequests(rocksdb::Env::IOPriority priority) const override;
  int64_t GetBytesPerSecond() const override;

 private:
  struct Done {
    uint64_t bytes = 0;
    uint64_t requests = 0;
    uint64_t waited_ns = 0;
  };

  // These expect the lock to be held.
  void Refill();
  void WaitFor(tuners::SilkClass work, double bytes, std::unique_lock<std::mutex>* lock);
  uint64_t Sum(uint64_t Done::* member, rocksdb::Env::IOPriority priority) const;

  const uint64_t gate_max_ns_;
  mutable std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  tuners::SilkBucket bucket_;
  double rate_bytes_per_s_;
  uint64_t refilled_ns_;
  bool released_ = false;
  std::array<Done, tuners::kSilkClasses> done_{};
};

}  // namespace kvdyno::silk
