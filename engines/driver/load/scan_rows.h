// ScanRows: takes a scan's rows as an application would, into its own memory, and can check them.
// Owns a row's copy; borrows the workload that knows what was written.
// One thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "kvdyno/api/adapter.h"
#include "load/workload.h"

namespace kvdyno {

class ScanRows final : public RowVisitor {
 public:
  // Every key below `stored` exists, unless the mix deletes.
  ScanRows(const Workload& workload, const std::atomic<uint64_t>& stored)
      : workload_(workload), stored_(stored) {}

  // Call one of these before each scan. The second checks all rows: none is before the key of
  // number `start` (of a reverse scan: above it), none out of order, none missing, none but what
  // was written.
  void Begin();
  void BeginVerified(uint64_t start, std::string_view start_key, uint64_t limit, bool reverse);
  bool Row(std::string_view key, std::string_view value) override;

  uint64_t count() const { return count_; }
  uint64_t bytes() const { return bytes_; }  // keys and values

  // After a verified scan: the first row that is not as it must be, or that rows are missing.
  Status Verdict() const;

 private:
  Status Verify(std::string_view key) const;

  const Workload& workload_;
  const std::atomic<uint64_t>& stored_;
  bool verify_ = false;
  uint64_t count_ = 0;
  uint64_t bytes_ = 0;
  std::string value_;
  uint64_t start_ = 0;
  bool reverse_ = false;
  uint64_t dense_rows_ = 0;  // that must come, one key number after the other from start_ on
  std::string last_key_;     // before the first row: where the scan began
  Status wrong_;
};

}  // namespace kvdyno
