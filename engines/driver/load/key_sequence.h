// KeySequence: hands out the indices of new keys, and knows below which index all keys are stored.
// Owns one slot per client; knows no engine.
// Safe from any number of threads; each client uses its own slot.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "measure/recorder.h"

namespace kvdyno {

class KeySequence {
 public:
  // Keys 0 .. first-1 exist already.
  KeySequence(uint64_t first, uint64_t client_count);

  // The index of a new key, which this client alone inserts now.
  uint64_t Take(uint64_t client);

  // The client's key is stored.
  void Acknowledge(uint64_t client);

  // Every key below this index is stored. Only grows.
  const std::atomic<uint64_t>& stored() const { return stored_; }

 private:
  static constexpr uint64_t kNone = UINT64_MAX;

  // Not above the key that a client is inserting; kNone while it inserts nothing.
  struct alignas(kCacheLine) Slot {
    std::atomic<uint64_t> lowest{kNone};
  };

  alignas(kCacheLine) std::atomic<uint64_t> next_;
  alignas(kCacheLine) std::atomic<uint64_t> stored_;
  alignas(kCacheLine) std::vector<Slot> in_flight_;
};

}  // namespace kvdyno
