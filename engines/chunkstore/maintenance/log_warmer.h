// LogWarmer: makes or reads the log indexes that a store lacks when it was opened, and saves them
// for the next open. Those that were saved are read one by one. Else they are made for many chunks
// at once: a chunk's runs lie in as many places as there were flushes, but there beside its
// neighbours', so that for a group of chunks one call per flush brings them, where a get that finds
// its chunk cold makes one per run of that chunk alone. Under State::maintenance_mutex.
#pragma once

#include <cstdint>
#include <vector>

#include "core/state.h"
#include "maintenance/policy.h"

namespace chunkstore {

// The runs of these chunks' logs to read ahead: all but long ones, which are as well read when they
// are needed.
std::vector<ExtentRef> ShortRunsOf(const std::vector<Chunk*>& chunks);

class LogWarmer {
 public:
  LogWarmer(State* state, const Policy* policy) : state_(*state), policy_(*policy) {}

  // Some of the logs of chunks that are read, so that no flush waits long; true when it got on.
  bool Warm();
  // Saves log indexes and heat. Returns the file's number, even if it could not be written. With
  // all background threads stopped.
  uint64_t Save();

 private:
  bool WarmGroup(const std::vector<Chunk*>& group);  // neighbours; true when some are warm now

  State& state_;
  const Policy& policy_;
};

}  // namespace chunkstore
