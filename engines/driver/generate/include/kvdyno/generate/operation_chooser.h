// OperationChooser: which operation comes next, by the workload's proportions.
// Immutable; safe from any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kvdyno/base/random.h"
#include "kvdyno/base/status.h"

namespace kvdyno {

// All that any driver times. Those before kSample make up mixes of keys and values.
enum class Operation : uint8_t {
  kRead,
  kUpdate,
  kInsert,
  kScan,
  kReadModifyWrite,
  kDelete,
  kMultiRead,
  kReverseScan,
  kSample
};
constexpr size_t kOperationCount = 9;
constexpr size_t kMixOperationCount = 8;

constexpr bool IsScan(Operation operation) {
  return operation == Operation::kScan || operation == Operation::kReverseScan;
}

// "read", "update", "insert", "scan", "readmodifywrite", "delete", "multiread", "reversescan", "sample":
// in metrics and messages.
std::string_view OperationName(Operation operation);

// The same in capitals: in YCSB's output.
std::string_view OperationYcsbName(Operation operation);

// One weight per operation of a mix, in the order of the enumeration.
using OperationProportions = std::array<double, kMixOperationCount>;

class OperationChooser {
 public:
  // Proportions are normalised, as YCSB does. InvalidArgument when one is negative or not a
  // number, or all are zero.
  static Status Make(const OperationProportions& proportions, OperationChooser* chooser);

  // Never an operation of proportion zero.
  Operation Next(Random& random) const {
    const uint64_t draw = random.Next() >> 1;
    unsigned operation = 0;
    for (const uint64_t bound : bounds_) operation += draw >= bound;
    return static_cast<Operation>(operation);
  }

  // The normalised proportion.
  double Share(Operation operation) const;

 private:
  static constexpr uint64_t kWhole = uint64_t{1} << 63;

  // Operation i ends, and i + 1 begins, at bounds_[i] of kWhole. A fresh chooser only reads.
  std::array<uint64_t, kMixOperationCount - 1> bounds_ = {kWhole, kWhole, kWhole, kWhole,
                                                          kWhole, kWhole, kWhole};
};

}  // namespace kvdyno
