#include <unistd.h>

#include <string>

#include "sampling/sampler.h"

namespace sampling {

Status CheckRecord(const Record& record) {
  if (record.weight >= 0 && record.weight <= kMaxWeight) return Status::Ok();  // NaN is neither
  return Status::InvalidArgument("insert key " + std::to_string(record.key) +
                                 ": expected a weight from 0 to 1e290, got " +
                                 std::to_string(record.weight));
}

Status CheckQuery(const Query& query, size_t k) {
  static const size_t most = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) *
                             static_cast<size_t>(sysconf(_SC_PAGESIZE)) / sizeof(Record);
  if (k == 0 || k > most) {
    return Status::InvalidArgument("sample: expected 1 to " + std::to_string(most) +
                                   " samples, which memory holds, got " + std::to_string(k));
  }
  if (query.first > query.last) {
    return Status::InvalidArgument("sample: expected a range that ends at or after key " +
                                   std::to_string(query.first) + ", got " +
                                   std::to_string(query.last));
  }
  return Status::Ok();
}

Status NothingToDraw() {
  return Status(kvdyno::Code::kNotFound,
                "sample: expected live records that weigh more than 0, got none");
}

}  // namespace sampling
