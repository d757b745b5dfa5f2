// A store's memory budget: what it must pay for beside what the store counts, and the store's part
// in a budget that several share.
#pragma once

#include <cstdint>
#include <memory>

#include "chunkstore/shared_budget.h"

namespace chunkstore {

// Bytes that allocators keep beyond what was asked of them, stacks, and the process's own; measured
// on resident sets with budgets of 32 MiB to 256 MiB.
constexpr uint64_t ProcessReserve(uint64_t memory_budget) {
  return (uint64_t{14} << 20) + memory_budget / 32;
}

// A store in a shared budget, from its opening until its memory is free.
class BudgetMember {
 public:
  // InvalidArgument if other stores' own parts leave less than `own_bytes`.
  static kvdyno::Status Join(std::shared_ptr<SharedBudget> budget, uint64_t own_bytes,
                             std::unique_ptr<BudgetMember>* member) {
    uint64_t number = 0;
    kvdyno::Status joined = budget->Join(own_bytes, &number);
    if (joined.ok()) member->reset(new BudgetMember(std::move(budget), number));
    return joined;
  }
  ~BudgetMember() { budget_->Leave(number_); }
  BudgetMember(const BudgetMember&) = delete;
  BudgetMember& operator=(const BudgetMember&) = delete;

  // What the store may take from now on, and has until the next call to come down to. `reads`: since
  // the last call. `useful_bytes`: more would serve nothing.
  uint64_t Settle(uint64_t reads, uint64_t useful_bytes) {
    return budget_->Settle(number_, reads, useful_bytes);
  }

 private:
  BudgetMember(std::shared_ptr<SharedBudget> budget, uint64_t number)
      : budget_(std::move(budget)), number_(number) {}

  std::shared_ptr<SharedBudget> budget_;
  uint64_t number_;
};

}  // namespace chunkstore
