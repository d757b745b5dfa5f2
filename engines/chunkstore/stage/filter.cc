#include "stage/filter.h"

#include <algorithm>
#include <new>

namespace chunkstore {

static_assert(sizeof(std::atomic<uint64_t>) == 8 && std::atomic<uint64_t>::is_always_lock_free);

Filter::Filter(size_t bytes) : lines_(std::max<size_t>(bytes / kLineBytes, 1)) {
  // calloc leaves large blocks to the kernel's zero pages: a filter costs what is used of it.
  memory_.reset(std::calloc(lines_ + 1, kLineBytes));
  if (memory_ == nullptr) throw std::bad_alloc();
  const auto address = reinterpret_cast<uintptr_t>(memory_.get());
  char* begin =
      static_cast<char*>(memory_.get()) + (kLineBytes - address % kLineBytes) % kLineBytes;
  words_ = reinterpret_cast<std::atomic<uint64_t>*>(begin);
}

Filter::Bits Filter::Find(uint64_t hash) const {
  const uint64_t line = (hash >> 32) * lines_ >> 32;
  // The line took the upper half; the bits come from a mixture in which the lower half rules.
  const uint64_t mixed = hash * 0x9e3779b97f4a7c15u;
  const auto bit = [mixed](int shift) { return uint64_t{1} << (mixed >> shift & 63); };
  const uint64_t first = mixed >> 61;
  const uint64_t second = (first + 1 + (mixed >> 58 & 7) % 7) & 7;  // another one
  std::atomic<uint64_t>* words = words_ + line * (kLineBytes / 8);
  return {{words + first, words + second},
          {bit(52) | bit(46) | bit(40), bit(34) | bit(28) | bit(22)}};
}

void Filter::Add(uint64_t hash) {
  const Bits bits = Find(hash);
  for (int i = 0; i < 2; ++i) {
    // A locked instruction only where it changes something.
    if ((bits.word[i]->load(std::memory_order_relaxed) & bits.mask[i]) != bits.mask[i]) {
      bits.word[i]->fetch_or(bits.mask[i], std::memory_order_relaxed);
    }
  }
}

bool Filter::MayContain(uint64_t hash) const {
  const Bits bits = Find(hash);
  return (bits.word[0]->load(std::memory_order_relaxed) & bits.mask[0]) == bits.mask[0] &&
         (bits.word[1]->load(std::memory_order_relaxed) & bits.mask[1]) == bits.mask[1];
}

}  // namespace chunkstore
