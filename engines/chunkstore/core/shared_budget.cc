#include "chunkstore/shared_budget.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/budget.h"
#include "kvdyno/base/units.h"

namespace chunkstore {

uint64_t SharedBudget::Held() const {
  uint64_t held = 0;
  for (const auto& [number, member] : members_) held += member.held();
  return held;
}

uint64_t SharedBudget::granted() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return Held();
}

// By own parts alone: what others have borrowed comes back, and until then the new store's caches
// are small.
kvdyno::Status SharedBudget::Join(uint64_t own_bytes, uint64_t* member) {
  const std::lock_guard<std::mutex> lock(mutex_);
  uint64_t owned = 0;
  for (const auto& [number, other] : members_) owned += other.own;
  if (owned + own_bytes > bytes_) {
    return kvdyno::Status::InvalidArgument(
        "open chunkstore: option memory_budget: expected at most " +
        kvdyno::FormatBytes(bytes_ - owned) + ", what other stores leave of the shared " +
        kvdyno::FormatBytes(bytes_) + ", got " + kvdyno::FormatBytes(own_bytes));
  }
  *member = next_member_++;
  members_[*member].own = own_bytes;
  return kvdyno::Status::Ok();
}

void SharedBudget::Leave(uint64_t member) {
  const std::lock_guard<std::mutex> lock(mutex_);
  members_.erase(member);
}

// Own part, and of the rest a share by reads. What one store cannot use is divided among the others.
uint64_t SharedBudget::ShareOf(uint64_t member) const {
  uint64_t rest = bytes_;
  double reads = 0;
  std::vector<const Member*> open;
  for (const auto& [number, each] : members_) {
    rest -= each.own;
    reads += each.reads + 1;
    open.push_back(&each);
  }
  const Member& asked = members_.at(member);
  const auto share = [&](const Member& each) {
    return static_cast<double>(rest) * (each.reads + 1) / reads;
  };
  const auto room = [](const Member& each) {
    return each.useful - std::min(each.useful, each.own);
  };
  for (;;) {
    const auto full = std::find_if(open.begin(), open.end(), [&](const Member* each) {
      return static_cast<double>(room(*each)) < share(*each);
    });
    if (full == open.end()) return asked.own + static_cast<uint64_t>(share(asked));
    if (*full == &asked) return asked.own + room(asked);
    rest -= room(**full);
    reads -= (*full)->reads + 1;
    open.erase(full);
  }
}

// A store shrinks between two calls: what it had is granted to others at the second one.
uint64_t SharedBudget::Settle(uint64_t member, uint64_t reads, uint64_t useful_bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Member& asking = members_.at(member);
  asking.reads = asking.reads / 2 + static_cast<double>(reads);
  asking.useful = useful_bytes;
  asking.before = asking.granted;
  const uint64_t share = ShareOf(member);
  const uint64_t held = Held();
  const uint64_t free = bytes_ - std::min(bytes_, held);
  asking.granted = std::min(share, asking.before + free);
  return asking.granted;
}

}  // namespace chunkstore
