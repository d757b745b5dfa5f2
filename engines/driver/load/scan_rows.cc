// Taking and checking rows, on the client's thread that owns the ScanRows.
#include "load/scan_rows.h"

#include <algorithm>

namespace kvdyno {

void ScanRows::Begin() {
  verify_ = false;
  count_ = bytes_ = 0;
}

void ScanRows::BeginVerified(uint64_t start, std::string_view start_key, uint64_t limit,
                             bool reverse) {
  Begin();
  verify_ = true;
  reverse_ = reverse;
  wrong_ = Status::Ok();
  start_ = start;
  last_key_.assign(start_key);
  const uint64_t stored = stored_.load(std::memory_order_acquire);
  const bool dense = workload_.keys_stay() && workload_.KeysSortBelow(stored) && start < stored;
  dense_rows_ = dense ? std::min(limit, reverse ? start + 1 : stored - start) : 0;
}

bool ScanRows::Row(std::string_view key, std::string_view value) {
  ++count_;
  bytes_ += key.size() + value.size();
  value_.assign(value);
  // Stores that return values without keys pass empty ones.
  if (verify_ && wrong_.ok() && !key.empty()) {
    wrong_ = Verify(key);
    last_key_.assign(key);
  }
  return true;
}

Status ScanRows::Verdict() const {
  if (!wrong_.ok() || count_ >= dense_rows_) return wrong_;
  return Status::Corruption("expected " + std::to_string(dense_rows_) + " rows, got " +
                            std::to_string(count_));
}

Status ScanRows::Verify(std::string_view key) const {
  const auto wrong = [&](const std::string& message) {
    return Status::Corruption("row '" + std::string(key) + "': " + message);
  };
  uint64_t index = 0;
  if (!workload_.ParseKey(key, &index)) return wrong("no such key was written");
  const int order = reverse_ ? last_key_.compare(key) : key.compare(last_key_);
  if (order < 0 || (order == 0 && count_ > 1)) {
    return wrong(std::string("expected a key ") + (reverse_ ? "below" : "above") + " '" +
                 last_key_ + "'");
  }
  const uint64_t place = count_ - 1;
  if (count_ <= dense_rows_ && index != (reverse_ ? start_ - place : start_ + place)) {
    return wrong("a key between it and '" + last_key_ + "' is missing");
  }
  return workload_.values().Verify(index, value_);
}

}  // namespace kvdyno
