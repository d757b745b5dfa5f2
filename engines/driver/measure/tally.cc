// Adding up tallies, on the thread that owns them at the moment.
#include "measure/tally.h"

namespace kvdyno {

Tally::Tally(const TallyShape& shape) : paced_(shape.paced) {
  for (size_t i = 0; i < kOperationCount; ++i) {
    if (!shape.used[i]) continue;
    operations_[i] = std::make_unique<OperationTally>();
    if (shape.paced) operations_[i]->service = std::make_unique<Histogram>();
  }
}

void Tally::Merge(const Tally& other) {
  for (size_t i = 0; i < kOperationCount; ++i) {
    OperationTally* mine = operations_[i].get();
    if (mine == nullptr) continue;
    const OperationTally& theirs = *other.operations_[i];
    mine->latency.Merge(theirs.latency);
    if (mine->service != nullptr) mine->service->Merge(*theirs.service);
    mine->not_found += theirs.not_found;
    mine->failed += theirs.failed;
    mine->rows += theirs.rows;
    mine->unstarted += theirs.unstarted;
  }
  bytes_written += other.bytes_written;
  bytes_read += other.bytes_read;
  retrievals += other.retrievals;
}

void Tally::Reset() {
  for (const auto& operation : operations_) {
    if (operation == nullptr) continue;
    operation->latency.Reset();
    if (operation->service != nullptr) operation->service->Reset();
    operation->not_found = operation->failed = operation->rows = operation->unstarted = 0;
  }
  bytes_written = bytes_read = retrievals = 0;
}

uint64_t Tally::operations() const {
  uint64_t count = 0;
  for (const auto& operation : operations_) {
    if (operation != nullptr) count += operation->completed();
  }
  return count;
}

uint64_t Tally::unstarted() const {
  uint64_t count = 0;
  for (const auto& operation : operations_) {
    if (operation != nullptr) count += operation->unstarted;
  }
  return count;
}

}  // namespace kvdyno
