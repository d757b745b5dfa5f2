#include "index/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>
#include <new>

namespace sampling {
namespace {

using kvdyno::MutexLock;

constexpr size_t kLarge = size_t{1} << 20;      // smaller arrays are the allocator's business
constexpr size_t kGranule = size_t{256} << 10;  // a multiple of every page size

size_t Rounded(size_t bytes) { return (bytes + kGranule - 1) / kGranule * kGranule; }

void* Map(size_t bytes) {
  void* const data =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) throw std::bad_alloc();
  return data;
}

}  // namespace

Arena::~Arena() {
  const MutexLock lock(mutex_);
  for (const auto& [data, bytes] : free_) ::munmap(data, bytes);
}

size_t Arena::kept() const {
  const MutexLock lock(mutex_);
  return kept_;
}

void* Arena::do_allocate(size_t bytes, size_t alignment) {
  if (bytes < kLarge) return ::operator new(bytes, std::align_val_t{alignment});
  bytes = Rounded(bytes);
  const MutexLock lock(mutex_);
  auto best = free_.end();  // the smallest that is large enough
  for (auto at = free_.begin(); at != free_.end(); ++at) {
    if (at->second >= bytes && (best == free_.end() || at->second < best->second)) best = at;
  }
  if (best == free_.end()) {
    void* const data = Map(bytes);
    used_ += bytes;
    return data;
  }
  const auto [data, size] = *best;
  free_.erase(best);
  if (size > bytes) free_.emplace(data + bytes, size - bytes);
  kept_ -= bytes;
  used_ += bytes;
  return data;
}

void Arena::do_deallocate(void* data, size_t bytes, size_t alignment) {
  if (bytes < kLarge) return ::operator delete(data, std::align_val_t{alignment});
  bytes = Rounded(bytes);
  const MutexLock lock(mutex_);
  used_ -= bytes;
  kept_ += bytes;
  auto at = free_.emplace(static_cast<char*>(data), bytes).first;
  if (const auto next = std::next(at);
      next != free_.end() && at->first + at->second == next->first) {
    at->second += next->second;
    free_.erase(next);
  }
  if (at != free_.begin()) {
    if (const auto before = std::prev(at); before->first + before->second == at->first) {
      before->second += at->second;
      free_.erase(at);
    }
  }
  Trim();
}

void Arena::Trim() {
  const auto most = static_cast<size_t>(share_ * static_cast<double>(used_));
  while (kept_ > most) {
    const auto largest =
        std::max_element(free_.begin(), free_.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    const size_t cut = std::min(largest->second, Rounded(kept_ - most));
    largest->second -= cut;
    ::munmap(largest->first + largest->second, cut);
    if (largest->second == 0) free_.erase(largest);
    kept_ -= cut;
  }
}

}  // namespace sampling
