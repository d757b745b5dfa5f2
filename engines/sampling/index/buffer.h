// Buffer: the newest entries, in order of arrival.
// Owns slots, running sums of what they count, and a hash index over pairs. One writer appends while
// others read any prefix that they have seen; nothing but a tag changes once it is there.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sampling/structure.h"

namespace sampling {

class Buffer {
 public:
  Buffer(size_t capacity, const Kind& kind);

  // The writer alone; not when full.
  void Append(const Entry& entry);
  // The writer alone: a record of this buffer was deleted.
  void NoteDeletion(const Entry& entry);

  size_t size() const { return size_.load(std::memory_order_acquire); }
  bool full() const { return size() == slots_.size(); }
  const Entry& entry(size_t slot) const { return slots_[slot]; }
  Entry& entry(size_t slot) { return slots_[slot]; }

  // The newest of the first `count` entries with that pair; kNone: there is none.
  static constexpr size_t kNone = SIZE_MAX;
  size_t Newest(uint64_t key, uint64_t value, size_t count) const;

  // What the first `count` entries count together, the deleted ones included.
  double Mass(size_t count) const { return sums_[count]; }
  // Counted by records of this buffer that were deleted.
  double DeletedMass() const { return deleted_mass_.load(std::memory_order_relaxed); }
  // The slot in which the running sum passes `at`, of the first `count`; `count` when none does.
  size_t SlotAt(double at, size_t count) const;

  size_t bytes() const;

 private:
  static constexpr uint32_t kEnd = UINT32_MAX;
  std::atomic<uint32_t>& Head(uint64_t key, uint64_t value) const;

  const Kind& kind_;
  std::vector<Entry> slots_;
  std::vector<double> sums_;  // of the slots before; one more than slots
  // Chains of slots with one hash, the newest first: a head per hash, then each slot's predecessor.
  size_t head_count_;
  std::unique_ptr<std::atomic<uint32_t>[]> heads_;
  std::vector<uint32_t> previous_;
  std::atomic<size_t> size_{0};
  std::atomic<double> deleted_mass_{0};
};

}  // namespace sampling
