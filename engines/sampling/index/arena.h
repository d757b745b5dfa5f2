// Arena: memory for the large arrays of shards, from the ones that merges replaced.
// The kernel gives fresh memory page by page, and fills each with zeros first; that takes longer than a merge takes to
// write it. Owns what it keeps, at most a share of what is in use. Safe from any thread.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <vector>

#include "kvdyno/base/mutex.h"

namespace sampling {

class Arena final : public std::pmr::memory_resource {
 public:
  // Keeps at most that share of the bytes in use.
  explicit Arena(double share) : share_(share) {}
  ~Arena() override;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  size_t kept() const;  // bytes that no array uses

 private:
  void* do_allocate(size_t bytes, size_t alignment) override;
  void do_deallocate(void* data, size_t bytes, size_t alignment) override;
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }

  const double share_;
  mutable kvdyno::Mutex mutex_;
  std::vector<char*> kept_ KVDYNO_GUARDED_BY(mutex_);  // granules, wherever they lie
  size_t used_ KVDYNO_GUARDED_BY(mutex_) = 0;
};

}  // namespace sampling
