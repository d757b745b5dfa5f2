// Tally: what the operations of some stretch of time did: histograms and counts per operation.
// Owns its histograms; knows no clock, no thread and no phase.
// One thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "kvdyno/generate/operation_chooser.h"
#include "measure/histogram.h"

namespace kvdyno {

// Which histograms a run needs, so that others take no memory.
struct TallyShape {
  std::array<bool, kOperationCount> used{};
  bool paced = false;  // open loop: service times are kept beside latencies
};

// Tallies of different clients must not share a line.
constexpr size_t kCacheLine = 64;

struct alignas(kCacheLine) OperationTally {
  // Completed operations. Closed loop: from the call; open loop: from the intended start, and for
  // operations that the phase's end found not started, how long they had waited.
  Histogram latency;
  std::unique_ptr<Histogram> service;  // open loop only: from the call
  uint64_t not_found = 0;              // of the completed ones
  uint64_t failed = 0;                 // beside the completed ones
  uint64_t rows = 0;       // of scans and of samples; of multi-gets: keys that were found
  uint64_t unstarted = 0;  // open loop: of the latencies, those not of an operation

  uint64_t completed() const { return latency.count() - unstarted; }
};

class Tally {
 public:
  explicit Tally(const TallyShape& shape);

  bool paced() const { return paced_; }

  // Null for an operation that is not in the shape.
  OperationTally* of(Operation operation) {
    return operations_[static_cast<size_t>(operation)].get();
  }
  const OperationTally* of(Operation operation) const {
    return operations_[static_cast<size_t>(operation)].get();
  }

  // Both sides have the same shape.
  void Merge(const Tally& other);
  void Reset();

  uint64_t operations() const;  // completed, of all kinds
  // Open loop: intended starts before the end of the phase that no client came to.
  uint64_t unstarted() const;

  uint64_t bytes_written = 0;  // keys and values that the application passed
  uint64_t bytes_read = 0;     // keys and values that it got
  uint64_t retrievals =
      0;  // reads, those inside read-modify-writes and each key of multi-gets included, and scans

 private:
  bool paced_;
  std::array<std::unique_ptr<OperationTally>, kOperationCount> operations_;
};

}  // namespace kvdyno
