#include "funk/open_files.h"

#include <algorithm>
#include <utility>

#include "funk/format.h"

namespace chunkstore {

namespace {

// A shard's list is walked from its beginning, which this keeps short.
constexpr size_t kSlotsPerShard = 32;

}  // namespace

OpenFiles::OpenFiles(kvdyno::FileSystem* files, std::string directory, bool direct, size_t max_open)
    : files_(files),
      directory_(std::move(directory)),
      direct_(direct),
      shards_(std::max<size_t>(1, max_open / kSlotsPerShard)),
      per_shard_(std::max<size_t>(1, max_open / shards_.size())) {}

// Holding the shard's lock.
OpenFiles::File OpenFiles::Shard::Find(uint64_t segment) {
  for (Slot& slot : slots) {
    if (slot.segment != segment) continue;
    slot.used = ++clock;
    return slot.file;
  }
  return nullptr;
}

Status OpenFiles::Get(uint64_t segment, File* file) {
  Shard& shard = ShardOf(segment);
  {
    const kvdyno::MutexLock lock(shard.mutex);
    *file = shard.Find(segment);
    if (*file != nullptr) return Status::Ok();
  }
  std::unique_ptr<kvdyno::RandomAccessFile> opened;
  Status status = files_->OpenForRead(directory_ + "/" + SegmentName(segment), direct_, &opened);
  // To a reader NotFound means a key; here it was a file.
  if (status.not_found()) return Status::IoError(status.message());
  if (!status.ok()) return status;
  if (direct_ && !opened->direct()) refused_.store(true, std::memory_order_relaxed);
  File evicted;  // closed after the lock is gone
  const kvdyno::MutexLock lock(shard.mutex);
  *file = shard.Find(segment);
  if (*file != nullptr) return Status::Ok();  // another thread was faster
  *file = std::move(opened);
  if (shard.slots.size() < per_shard_) {
    shard.slots.push_back({segment, ++shard.clock, *file});
    return Status::Ok();
  }
  Slot& oldest = *std::min_element(shard.slots.begin(), shard.slots.end(),
                                   [](const Slot& a, const Slot& b) { return a.used < b.used; });
  evicted = std::exchange(oldest, {segment, ++shard.clock, *file}).file;
  return Status::Ok();
}

void OpenFiles::Close(uint64_t segment) {
  Shard& shard = ShardOf(segment);
  const kvdyno::MutexLock lock(shard.mutex);
  std::erase_if(shard.slots, [&](const Slot& slot) { return slot.segment == segment; });
}

size_t OpenFiles::count() const {
  size_t count = 0;
  for (const Shard& shard : shards_) {
    const kvdyno::MutexLock lock(shard.mutex);
    count += shard.slots.size();
  }
  return count;
}

}  // namespace chunkstore
