#include "kvdyno/generate/operation_chooser.h"

#include <cmath>
#include <numeric>
#include <string>

namespace kvdyno {
namespace {

struct Names {
  std::string_view name;
  std::string_view ycsb;
};
constexpr std::array<Names, kOperationCount> kNames = {{{"read", "READ"},
                                                        {"update", "UPDATE"},
                                                        {"insert", "INSERT"},
                                                        {"scan", "SCAN"},
                                                        {"readmodifywrite", "READMODIFYWRITE"},
                                                        {"delete", "DELETE"},
                                                        {"multiread", "MULTIREAD"},
                                                        {"reversescan", "REVERSESCAN"},
                                                        {"sample", "SAMPLE"}}};

}  // namespace

std::string_view OperationName(Operation operation) {
  return kNames[static_cast<size_t>(operation)].name;
}

std::string_view OperationYcsbName(Operation operation) {
  return kNames[static_cast<size_t>(operation)].ycsb;
}

Status OperationChooser::Make(const OperationProportions& proportions, OperationChooser* chooser) {
  for (size_t i = 0; i < kMixOperationCount; ++i) {
    if (std::isfinite(proportions[i]) && proportions[i] >= 0) continue;
    return Status::InvalidArgument("proportion of " + std::string(kNames[i].name) +
                                   ": expected 0 or more, got " + std::to_string(proportions[i]));
  }
  const double total = std::accumulate(proportions.begin(), proportions.end(), 0.0);
  if (total <= 0 || !std::isfinite(total)) {
    return Status::InvalidArgument("operation proportions: expected a sum above 0, got " +
                                   std::to_string(total));
  }
  // The sum takes the same steps as the total: behind the last share it is the total exactly, and
  // an operation without a share is never reached.
  double sum = 0;
  for (size_t i = 0; i < chooser->bounds_.size(); ++i) {
    sum += proportions[i];
    chooser->bounds_[i] = static_cast<uint64_t>(sum / total * 0x1p63);
  }
  return Status::Ok();
}

double OperationChooser::Share(Operation operation) const {
  const auto i = static_cast<size_t>(operation);
  const uint64_t begin = i == 0 ? 0 : bounds_[i - 1];
  const uint64_t end = i == bounds_.size() ? kWhole : bounds_[i];
  return static_cast<double>(end - begin) * 0x1p-63;
}

}  // namespace kvdyno
