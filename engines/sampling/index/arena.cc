#include "index/arena.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

namespace sampling {
namespace {

using kvdyno::MutexLock;

constexpr size_t kGranule = size_t{2} << 20;  // a huge page, which moves as a whole
constexpr size_t kLarge = 2 * kGranule;       // smaller arrays are the allocator's business
constexpr int kAnonymous = MAP_PRIVATE | MAP_ANONYMOUS;

size_t InPages(size_t bytes) {
  constexpr size_t kPage = size_t{64} << 10;  // a multiple of every page size
  return (bytes + kPage - 1) / kPage * kPage;
}

// Address space that begins with a granule. No memory yet.
char* Map(size_t bytes) {
  void* const mapped = ::mmap(nullptr, bytes + kGranule, PROT_READ | PROT_WRITE, kAnonymous, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  char* const begin = static_cast<char*>(mapped);
  const size_t before = (kGranule - reinterpret_cast<uintptr_t>(begin) % kGranule) % kGranule;
  if (before > 0) ::munmap(begin, before);
  ::munmap(begin + before + bytes, kGranule - before);
  return begin + before;
}

// Whether the granule lies at `to` now, in place of what was mapped there. If not, that is fresh memory.
bool Move(char* granule, char* to) {
  if (::mremap(granule, kGranule, kGranule, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED)
    return true;
  // The kernel may have unmapped the place before it gave up.
  if (::mmap(to, kGranule, PROT_READ | PROT_WRITE, kAnonymous | MAP_FIXED, -1, 0) == MAP_FAILED)
    throw std::bad_alloc();
  return false;
}

}  // namespace

Arena::~Arena() {
  const MutexLock lock(mutex_);
  for (char* const granule : kept_) ::munmap(granule, kGranule);
}

size_t Arena::kept() const {
  const MutexLock lock(mutex_);
  return kept_.size() * kGranule;
}

void* Arena::do_allocate(size_t bytes, size_t alignment) {
  if (bytes < kLarge) return ::operator new(bytes, std::align_val_t{alignment});
  bytes = InPages(bytes);
  char* const data = Map(bytes);
  const MutexLock lock(mutex_);
  // Granules change their addresses, not their memory. What they do not fill is fresh.
  for (size_t at = 0; at + kGranule <= bytes && !kept_.empty(); at += kGranule) {
    if (!Move(kept_.back(), data + at)) break;
    kept_.pop_back();
  }
  used_ += bytes;
  return data;
}

void Arena::do_deallocate(void* data, size_t bytes, size_t alignment) {
  if (bytes < kLarge) return ::operator delete(data, std::align_val_t{alignment});
  bytes = InPages(bytes);
  const MutexLock lock(mutex_);
  used_ -= bytes;
  const auto most = static_cast<size_t>(share_ * static_cast<double>(used_)) / kGranule;
  size_t at = 0;
  for (; at + kGranule <= bytes && kept_.size() < most; at += kGranule)
    kept_.push_back(static_cast<char*>(data) + at);
  if (at < bytes) ::munmap(static_cast<char*>(data) + at, bytes - at);
  for (; kept_.size() > most; kept_.pop_back()) ::munmap(kept_.back(), kGranule);
}

}  // namespace sampling
