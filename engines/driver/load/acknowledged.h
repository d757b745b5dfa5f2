// AcknowledgedWrites: the newest writes that the engine acknowledged, in a mapped file that outlives
// the process, so that a later one can check what a kill took.
// Owns the mapping: a ring of writes per client. Knows neither engine nor values. Booking allocates
// nothing and calls nothing of the kernel.
//
// Threads: each client books into its own ring; different clients at the same time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kvdyno/base/status.h"

namespace kvdyno {

inline constexpr const char* kAcknowledgedFile = "acknowledged.bin";

// On disk as in memory. All clients take times from one clock.
struct AcknowledgedWrite {
  uint64_t index = 0;     // of the key
  uint64_t sequence = 0;  // of the value
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
};
static_assert(sizeof(AcknowledgedWrite) == 32);

class AcknowledgedWrites {
 public:
  // Each client's newest; 1 MiB of memory.
  static constexpr uint64_t kKept = uint64_t{1} << 15;

  static Status Create(const std::string& path, uint64_t clients,
                       std::unique_ptr<AcknowledgedWrites>* writes);
  ~AcknowledgedWrites();
  AcknowledgedWrites(const AcknowledgedWrites&) = delete;
  AcknowledgedWrites& operator=(const AcknowledgedWrites&) = delete;

  void Book(uint64_t client, const AcknowledgedWrite& write);

 private:
  AcknowledgedWrites(char* memory, uint64_t bytes) : memory_(memory), bytes_(bytes) {}

  char* const memory_;
  const uint64_t bytes_;
};

// The writes of one client, oldest first. `complete`: none was overwritten by later ones.
struct ClientWrites {
  std::vector<AcknowledgedWrite> writes;
  bool complete = true;
};

// What a process left, which need not have ended well. Corruption for a file that is none of these.
Status ReadAcknowledged(const std::string& path, std::vector<ClientWrites>* clients);

}  // namespace kvdyno
