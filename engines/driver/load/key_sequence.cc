// New keys of a run, handed out and acknowledged without a lock. Shared by all clients; each
// owns its slot.
//
// A client announces a lower bound before it takes an index. Hence a reader of `next_` that comes
// first and the slots afterwards misses no index below `next_` that is still in flight.
#include "load/key_sequence.h"

#include <algorithm>

namespace kvdyno {

KeySequence::KeySequence(uint64_t first, uint64_t client_count)
    : next_(first), stored_(first), in_flight_(client_count) {}

uint64_t KeySequence::Take(uint64_t client) {
  in_flight_[client].lowest.store(next_.load());
  const uint64_t index = next_.fetch_add(1);
  in_flight_[client].lowest.store(index);
  return index;
}

void KeySequence::Acknowledge(uint64_t client) {
  in_flight_[client].lowest.store(kNone);
  uint64_t limit = next_.load();
  for (const Slot& slot : in_flight_) limit = std::min(limit, slot.lowest.load());
  uint64_t seen = stored_.load();
  while (seen < limit && !stored_.compare_exchange_weak(seen, limit)) {
  }
}

}  // namespace kvdyno
