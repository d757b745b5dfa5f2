// Budget: how much of a phase's work is left, dealt to clients in shares.
// Owns two counters; knows neither clients nor time.
// Safe from any thread. A share is big enough that clients seldom meet here, and small enough that
// they end together. In an open loop it is one operation: intended starts are spread over clients,
// and a client must not sit on shares whose turn is far away.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "measure/recorder.h"

namespace kvdyno {

// What ends a phase: the first limit that is reached.
struct Limits {
  static constexpr uint64_t kUnlimited = UINT64_MAX;

  uint64_t operations = kUnlimited;
  uint64_t bytes_written = kUnlimited;
  double seconds = 0;  // 0: no limit
  // Kills the process when so many operations are dealt.
  uint64_t kill_at = kUnlimited;
};

class Budget {
 public:
  struct Share {
    uint64_t first = 0;  // of all that was dealt
    uint64_t count = 0;  // 0: nothing is left
  };

  Budget(const Limits& limits, uint64_t client_count, bool paced = false)
      : operations_(limits.operations, client_count, paced ? 1 : 64),
        bytes_(limits.bytes_written, client_count, uint64_t{1} << 20) {}

  // Exactly as many operations are dealt as the limit allows.
  Share TakeOperations() { return operations_.Take(); }

  // A client may write until its share is used up, and finishes the operation that does so: in
  // total at most one operation per client goes beyond the limit.
  uint64_t TakeBytes() { return bytes_.Take().count; }

 private:
  class Pool {
   public:
    Pool(uint64_t total, uint64_t client_count, uint64_t share_max)
        : total_(total), share_(std::clamp(total / (client_count * 64), uint64_t{1}, share_max)) {}

    Share Take() {
      const uint64_t first = dealt_.fetch_add(share_, std::memory_order_relaxed);
      if (first >= total_) return {first, 0};
      return {first, std::min(share_, total_ - first)};
    }

   private:
    alignas(kCacheLine) std::atomic<uint64_t> dealt_{0};
    const uint64_t total_;
    const uint64_t share_;
  };

  Pool operations_;
  Pool bytes_;
};

}  // namespace kvdyno
