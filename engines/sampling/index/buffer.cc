#include "index/buffer.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "index/filter.h"

namespace sampling {

Buffer::Buffer(size_t capacity, const Kind& kind)
    : kind_(kind),
      slots_(capacity),
      sums_(capacity + 1, 0),
      head_count_(std::bit_ceil(capacity)),
      heads_(std::make_unique<std::atomic<uint32_t>[]>(head_count_)),
      previous_(capacity) {
  std::fill_n(heads_.get(), head_count_, kEnd);
}

std::atomic<uint32_t>& Buffer::Head(uint64_t key, uint64_t value) const {
  return heads_[PairHash(key, value) & (head_count_ - 1)];
}

void Buffer::Append(const Entry& entry) {
  const size_t slot = size();
  assert(slot < slots_.size());
  slots_[slot] = entry;
  sums_[slot + 1] = sums_[slot] + kind_.Counts(entry);
  std::atomic<uint32_t>& head = Head(entry.key, entry.value);
  previous_[slot] = head.load(std::memory_order_relaxed);
  head.store(static_cast<uint32_t>(slot), std::memory_order_release);
  size_.store(slot + 1, std::memory_order_release);
}

void Buffer::NoteDeletion(const Entry& entry) {
  deleted_mass_.store(DeletedMass() + kind_.Counts(entry), std::memory_order_relaxed);
}

size_t Buffer::Newest(uint64_t key, uint64_t value, size_t count) const {
  uint32_t slot = Head(key, value).load(std::memory_order_acquire);
  for (; slot != kEnd; slot = previous_[slot]) {
    const Entry& entry = slots_[slot];
    if (slot < count && entry.key == key && entry.value == value) return slot;
  }
  return kNone;
}

size_t Buffer::SlotAt(double at, size_t count) const {
  const auto sums = sums_.begin() + 1;
  return static_cast<size_t>(std::upper_bound(sums, sums + static_cast<ptrdiff_t>(count), at) -
                             sums);
}

size_t Buffer::bytes() const {
  return slots_.capacity() * sizeof(Entry) + sums_.capacity() * sizeof(double) +
         (head_count_ + previous_.capacity()) * sizeof(uint32_t);
}

}  // namespace sampling
