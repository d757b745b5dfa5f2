// SharedBudget: memory for several stores of one process, named in Options::shared_budget.
// Each store has Options::memory_budget of it for good. The rest goes to the caches of the stores
// that are read most, as far as they can use it, and follows them within seconds. Safe from any
// thread; lives as long as the last store that names it.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "kvdyno/base/status.h"

namespace chunkstore {

class SharedBudget {
 public:
  explicit SharedBudget(uint64_t bytes) : bytes_(bytes) {}
  SharedBudget(const SharedBudget&) = delete;
  SharedBudget& operator=(const SharedBudget&) = delete;

  uint64_t bytes() const { return bytes_; }
  // What all stores may take now, their own parts included; never above bytes().
  uint64_t granted() const;

 private:
  friend class BudgetMember;
  struct Member {
    uint64_t own = 0;
    uint64_t useful = 0;   // more would serve nothing
    uint64_t granted = 0;  // by the last call of Settle
    uint64_t before = 0;   // by the one before: what the store may still hold
    double reads = 0;      // halved with each call

    uint64_t held() const { return granted > before ? granted : before; }
  };
  using Members = std::map<uint64_t, Member>;

  kvdyno::Status Join(uint64_t own_bytes, uint64_t* member);
  void Leave(uint64_t member);
  uint64_t Settle(uint64_t member, uint64_t reads, uint64_t useful_bytes);
  uint64_t Held() const;
  uint64_t ShareOf(uint64_t member) const;

  const uint64_t bytes_;
  mutable std::mutex mutex_;  // guards what follows
  Members members_;
  uint64_t next_member_ = 1;
};

}  // namespace chunkstore
