#include "stage/ring.h"

#include <cstring>

#include "stage/recovery.h"

namespace chunkstore {

Ring::Ring(const RingOptions& options) : options_(options) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].path = options_.directory + "/ring-" + std::to_string(i);
  }
}

void Ring::Slot::Drop() {
  file.reset();
  held.reset();
  size = 0;
}

Status Ring::Open(const RingOptions& options, uint64_t flushed_sequence,
                  const std::vector<EpochEnd>& epochs, bool salvage, RingRecovery* recovery,
                  std::unique_ptr<Ring>* ring) {
  if (options.stage_size < 2 * kRecordsAt) {
    return Status::InvalidArgument("open ring: expected a stage size of 8192 or more, got " +
                                   std::to_string(options.stage_size));
  }
  *recovery = {};
  std::unique_ptr<Ring> opened(new Ring(options));
  Status status = Recovery(opened.get(), flushed_sequence, epochs, salvage, recovery).Run();
  if (!status.ok()) return status;
  *ring = std::move(opened);
  return Status::Ok();
}

Status Ring::PrepareFree() {
  if (options_.in_memory) return Status::Ok();  // as much as is needed, when it is
  for (Slot& slot : slots_) {
    if (slot.busy) continue;
    if (const Status status = Prepare(&slot); !status.ok()) return status;
  }
  return Status::Ok();
}

Status Ring::Prepare(Slot* slot) {
  const size_t size = options_.stage_size;
  if (options_.in_memory) {
    if (slot->held != nullptr && slot->size == size) return Status::Ok();
    slot->Drop();
    slot->held.reset(new char[size]);
    slot->size = size;
    return Status::Ok();
  }
  if (slot->file != nullptr && slot->size == size) return Status::Ok();
  slot->Drop();
  kvdyno::FileSystem* files = options_.files;
  if (files->Exists(slot->path)) {
    uint64_t found = 0;
    Status status = files->Size(slot->path, &found);
    if (status.ok() && found != size) status = files->Remove(slot->path);
    if (!status.ok()) return status;
  }
  Status status = files->Map(slot->path, size, &slot->file);
  if (status.ok()) status = files->SyncDirectory(options_.directory);
  if (!status.ok()) {
    slot->Drop();
    return status;
  }
  slot->size = size;
  return Status::Ok();
}

Stage::Place Ring::PlaceOf(size_t slot) {
  Slot& from = slots_[slot];
  Stage::Place place;
  place.slot = slot;
  place.data = from.data();
  place.size = from.size;
  place.file = from.file.get();
  if (from.file != nullptr) place.files = options_.files;
  place.directory = options_.directory;
  return place;
}

Ring::Slot* Ring::TakeFree() {
  const kvdyno::MutexLock lock(mutex_);
  for (Slot& slot : slots_) {
    if (slot.busy) continue;
    slot.busy = true;
    return &slot;
  }
  return nullptr;
}

Status Ring::Acquire(uint64_t sequence, Version first, std::shared_ptr<Stage>* stage,
                     std::vector<std::string> separators) {
  if (options_.read_only) return Status::ReadOnly("acquire stage: the ring is open for reading");
  Slot* slot = TakeFree();
  if (slot == nullptr) return Status::Busy("acquire stage: expected a free one, all are unflushed");
  Status status = Prepare(slot);
  if (status.ok() && slot->file != nullptr) {
    const StageHeader header{sequence, first, slot->size};
    // The last use's second header may never have become durable, or be of a use before that.
    StageHeader before;
    uint32_t format = 0;
    if (LoadHeader({slot->data(), kRecordsAt}, kHeadersAt[0], &before, &format) ==
        HeaderState::kGood) {
      StoreHeader(slot->data() + kHeadersAt[1], before);
    }
    status = slot->file->Sync(0, kRecordsAt);
    StoreHeader(slot->data() + kHeadersAt[0], header);
    if (status.ok()) status = slot->file->Sync(0, kRecordsAt);
    // The second one follows when the first is durable, so that one of them is always whole.
    if (status.ok()) StoreHeader(slot->data() + kHeadersAt[1], header);
    if (status.ok()) newest_sequence_.store(sequence, std::memory_order_release);
  }
  if (status.ok()) {
    stage->reset(new Stage(sequence, first, PlaceOf(static_cast<size_t>(slot - slots_.data())),
                           std::move(separators)));
  }
  const kvdyno::MutexLock lock(mutex_);
  slot->busy = status.ok();
  if (status.ok()) slot->stage = *stage;
  return status;
}

bool Ring::HasFree() const {
  const kvdyno::MutexLock lock(mutex_);
  for (const Slot& slot : slots_) {
    if (!slot.busy) return true;
  }
  return false;
}

void Ring::Release(const std::shared_ptr<Stage>& stage) {
  stage->Retire();
  const kvdyno::MutexLock lock(mutex_);
  Slot& slot = slots_[stage->place_.slot];
  slot.stage.reset();
  slot.busy = false;
}

size_t Ring::memory() const {
  size_t bytes = 0;
  const kvdyno::MutexLock lock(mutex_);
  for (const Slot& slot : slots_) {
    const std::shared_ptr<Stage> stage = slot.stage.lock();
    bytes += stage != nullptr ? stage->memory() : slot.size.load();
  }
  return bytes;
}

size_t Ring::memory_in_use() const {
  size_t bytes = 0;
  const kvdyno::MutexLock lock(mutex_);
  for (const Slot& slot : slots_) {
    if (const std::shared_ptr<Stage> stage = slot.stage.lock()) bytes += stage->touched_memory();
  }
  return bytes;
}

// The write lock keeps Acquire out, which alone touches a free slot. Headers stay: Acquire reads
// and writes them through the mapping, where a page that cannot be read again would be a signal.
// What the first records need stays, too, because nothing reads ahead of them.
void Ring::ForgetUnused() {
  const kvdyno::MutexLock lock(mutex_);
  for (Slot& slot : slots_) {
    if (slot.file == nullptr) continue;
    if (const std::shared_ptr<Stage> stage = slot.stage.lock()) {
      stage->ForgetUnused();
    } else if (!slot.busy) {
      const size_t from = std::min<size_t>(kRecordsAt + Stage::kAhead, slot.size);
      slot.file->Forget(from, slot.size - from);
    }
  }
}

size_t Ring::resident() const {
  size_t bytes = 0;
  const kvdyno::MutexLock lock(mutex_);
  for (const Slot& slot : slots_) {
    if (slot.file != nullptr) bytes += slot.file->resident();
  }
  return bytes;
}

}  // namespace chunkstore
