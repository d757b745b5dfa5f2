#include "memory/pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace chunkstore {

Pages::Pages(Pages&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Pages& Pages::operator=(Pages&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Pages::~Pages() { Resize(0); }

bool Pages::Resize(size_t bytes) {
  bytes = RoundUp(bytes, kPageBytes);
  if (bytes == size_) return true;
  void* data = nullptr;
  if (bytes == 0) {
    munmap(data_, size_);
  } else if (data_ == nullptr) {
    data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                -1, 0);
  } else {
    data = mremap(data_, size_, bytes, MREMAP_MAYMOVE);
  }
  if (data == MAP_FAILED) return false;
  data_ = static_cast<char*>(data);
  size_ = bytes;
  return true;
}

void Pages::Discard(size_t from) {
  from = RoundUp(from, kPageBytes);
  if (from < size_) madvise(data_ + from, size_ - from, MADV_DONTNEED);
}

Pages SparePages::Take() {
  const kvdyno::MutexLock lock(mutex_);
  if (pages_.empty()) return {};
  Pages pages = std::move(pages_.back());
  pages_.pop_back();
  bytes_ -= pages.size();
  return pages;
}

void SparePages::Give(Pages pages) {
  const kvdyno::MutexLock lock(mutex_);
  if (bytes_ + pages.size() > most_) return;
  bytes_ += pages.size();
  pages_.push_back(std::move(pages));
}

size_t SparePages::bytes() const {
  const kvdyno::MutexLock lock(mutex_);
  return bytes_;
}

GrowingBuffer::~GrowingBuffer() {
  if (pages_.data() == nullptr) {
    std::free(data_);
  } else if (spare_ != nullptr) {
    spare_->Give(std::move(pages_));
  }
}

char* GrowingBuffer::Append(size_t bytes) {
  bytes = RoundUp(bytes, 8);
  if (size_ + bytes > capacity_) {
    Reallocate(std::max({size_ + bytes, capacity_ + capacity_ / 2, size_t{256}}));
  }
  char* room = data_ + size_;
  size_ += bytes;
  return room;
}

void GrowingBuffer::Reserve(size_t bytes) {
  if (bytes > capacity_) Reallocate(RoundUp(bytes, 8));
}

void GrowingBuffer::ShrinkToFit() {
  if (size_ < capacity_) Reallocate(size_);
}

void GrowingBuffer::Reallocate(size_t capacity) {
  const bool was_mapped = pages_.data() != nullptr;
  if (was_mapped || capacity >= kMapFrom) {
    const bool grows = capacity > capacity_;
    if (!was_mapped && spare_ != nullptr) pages_ = spare_->Take();
    const size_t least = grows ? pages_.size() : kPageBytes;
    if (!pages_.Resize(std::max(capacity, least))) throw std::bad_alloc();
    if (!was_mapped) {
      if (size_ > 0) std::memcpy(pages_.data(), data_, size_);
      std::free(data_);
    }
    data_ = pages_.data();
    capacity_ = pages_.size();
    return;
  }
  if (capacity == 0) {
    std::free(data_);
    data_ = nullptr;
  } else {
    auto* data = static_cast<char*>(std::realloc(data_, capacity));
    if (data == nullptr) throw std::bad_alloc();
    data_ = data;
  }
  capacity_ = capacity;
}

}  // namespace chunkstore
