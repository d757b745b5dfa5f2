#include "core/state.h"

#include <utility>

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

void State::Log(LogLevel level, const std::string& text) const {
  if (options.logger != nullptr) options.logger->Log(level, directory + ": " + text);
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
    // Inside: a call that finds the error of another must see it in fatal(), too.
    has_fatal.store(true, std::memory_order_release);
  }
  Log(LogLevel::kError, "no more writes are taken: " + status.ToString());
  room.NotifyAll();
}

Status State::flush_error() const {
  const kvdyno::MutexLock lock(error_mutex_);
  return flush_error_;
}

// Logged when it changes: a flush is tried again many times a minute.
void State::SetFlushError(const Status& status) {
  Status before;
  {
    const kvdyno::MutexLock lock(error_mutex_);
    before = std::exchange(flush_error_, status);
  }
  if (status.code() != before.code()) {
    if (status.ok()) Log(LogLevel::kInfo, "flushing works again");
    if (!status.ok()) Log(LogLevel::kWarning, "flush: " + status.ToString());
  }
  if (!status.ok()) counters.Add(Count::kBackgroundErrors);
  room.NotifyAll();
}

}  // namespace chunkstore
