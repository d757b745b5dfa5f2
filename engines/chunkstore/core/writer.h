// Writer: the way of a write into the ring, the indexes and, where the chunk has one, the munk;
// checkpoints; and the brakes.
// One write at a time is ordered and copied under State::write_mutex; entering it into the indexes
// happens outside. Knows nothing of flushing but how to ask for it. Every method may be called from
// any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/state.h"

namespace chunkstore {

class Writer {
 public:
  // `work` is called without locks when no stage is free: it does background work in the caller's
  // thread, or wakes up who does it. `wake` is called, perhaps with locks held, when a stage waits to
  // be flushed, and as State::wake_on_write asks.
  Writer(State* state, std::function<Status()> work, std::function<void()> wake)
      : state_(*state), work_(std::move(work)), wake_(std::move(wake)) {}

  // `count` operations, encoded as in stage/record.h. With `sync` it returns when the write
  // survives a power loss, else when it is in the ring. A closed store returns InvalidArgument.
  Status Write(std::string_view payload, uint32_t count, bool sync);

  // Everything written before survives a power loss.
  Status Checkpoint();

  // Seals the active stage if it holds anything, and opens the next. Busy when no stage is free.
  Status Rotate();

 private:
  Status MakeRoom(size_t payload_bytes) KVDYNO_REQUIRES(state_.write_mutex);
  Status RotateLocked() KVDYNO_REQUIRES(state_.write_mutex);
  std::vector<std::string> Separators();
  Status Append(std::string_view payload, uint32_t count, Version* last)
      KVDYNO_RELEASES(state_.write_mutex);
  void Enter(std::string_view stored, Version first, Stage* stage);
  Status CheckpointTo(Version version);
  // The share of the ring that is not flushed.
  double Unflushed() const KVDYNO_REQUIRES(state_.write_mutex);
  void KeepPace();

  State& state_;
  std::function<Status()> work_;
  std::function<void()> wake_;
};

// Puts a new stage list in place of the current one.
void PublishStages(State* state, const StageList* list) KVDYNO_REQUIRES(state->write_mutex);

}  // namespace chunkstore
