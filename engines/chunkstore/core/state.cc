#include "core/state.h"

namespace chunkstore {

State::~State() {
  slots.WaitForReaders();
  slots.Reclaim();
  if (const ChunkMap* map = chunks.load(); map != nullptr) {
    for (Chunk* chunk : map->chunks()) delete chunk;
    delete map;
  }
  active.reset();
  delete stages.load();
}

Status State::ClosedError(const char* operation) const {
  return Status::InvalidArgument(std::string(operation) + " " + directory +
                                 ": the store is closed");
}

Status State::fatal() const {
  if (!has_fatal.load(std::memory_order_acquire)) return Status::Ok();
  const kvdyno::MutexLock lock(error_mutex_);
  return fatal_;
}

void State::SetFatal(const Status& status) {
  {
    const kvdyno::MutexLock lock(error_mutex_);
    if (!fatal_.ok()) return;
    fatal_ =
        Status(Code::kReadOnly, "write " + directory +
                                    ": the store takes no more writes, because a write to disk "
                                    "failed that cannot be repeated (" +
                                    status.ToString() + "); close it and open it again");
  }
  has_fatal.store(true, std::memory_order_release);
  room.NotifyAll();
}

Status State::flush_error() const {
  const kvdyno::MutexLock lock(error_mutex_);
  return flush_error_;
}

void State::SetFlushError(const Status& status) {
  {
    const kvdyno::MutexLock lock(error_mutex_);
    flush_error_ = status;
  }
  if (!status.ok()) counters.Add(Count::kBackgroundErrors);
  room.NotifyAll();
}

}  // namespace chunkstore
