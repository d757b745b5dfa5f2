// PageCache: pages of shards' files that were read lately, at most so many.
// Owns the frames, evicts what was not asked for longest. Safe from any thread; reads happen outside of its lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "external/page.h"
#include "kvdyno/base/mutex.h"

namespace sampling {

using PagePtr = std::shared_ptr<const Page>;

class PageCache {
 public:
  // What a page costs in memory: itself and its places in list and map.
  static constexpr size_t kFrameBytes = sizeof(Page) + 192;

  struct Want {
    const PageFile* file;
    uint32_t page;
    PagePtr found;
  };
  // Finds every page, whose memory lasts as long as the pointer: those in the cache, and the others by reading
  // them together, in order of file and offset. The first error, with its place, when a page cannot be had.
  Status Get(std::span<Want> wants);

  // What the cache may hold from now on.
  void SetBytes(size_t bytes);
  size_t bytes() const { return held_.load(std::memory_order_relaxed) * kFrameBytes; }
  uint64_t pages_read() const { return read_.load(std::memory_order_relaxed); }
  uint64_t hits() const { return hits_.load(std::memory_order_relaxed); }

 private:
  struct Frame {
    uint64_t key;
    PagePtr page;
  };
  static uint64_t KeyOf(const Want& want) { return uint64_t{want.file->shard()} << 32 | want.page; }
  PagePtr Find(uint64_t key) KVDYNO_REQUIRES(mutex_);
  void Insert(uint64_t key, const PagePtr& page) KVDYNO_REQUIRES(mutex_);
  void Evict() KVDYNO_REQUIRES(mutex_);
  Status ReadMissing(std::span<Want*> missing);

  kvdyno::Mutex mutex_;
  size_t most_ KVDYNO_GUARDED_BY(mutex_) = 0;          // pages
  std::list<Frame> frames_ KVDYNO_GUARDED_BY(mutex_);  // the last one asked for first
  std::unordered_map<uint64_t, std::list<Frame>::iterator> places_ KVDYNO_GUARDED_BY(mutex_);
  std::atomic<size_t> held_{0};
  std::atomic<uint64_t> read_{0}, hits_{0};
};

}  // namespace sampling
