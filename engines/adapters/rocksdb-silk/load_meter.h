// The bytes that clients read and write, counted by sessions that pass every call on.
// Owns the counts; knows no engine. The meter outlives its sessions and is safe from any thread; a
// session belongs to one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>

#include "kvdyno/api/adapter.h"

namespace kvdyno::silk {

class LoadMeter {
 public:
  // A session that does what `session` does, and counts.
  std::unique_ptr<Session> Measure(std::unique_ptr<Session> session);

  // All sessions so far, ended ones too; never decreases.
  uint64_t bytes() const;

 private:
  class MeasuredSession;
  // Written by one session's thread; on a cache line of its own.
  struct alignas(64) Cell {
    std::atomic<uint64_t> bytes = 0;
  };

  void Add(const Cell* cell);
  void Remove(const Cell* cell);

  mutable std::mutex mutex_;  // guards all below
  std::set<const Cell*> cells_;
  uint64_t ended_bytes_ = 0;
};

}  // namespace kvdyno::silk
