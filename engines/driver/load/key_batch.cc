// Multi-gets, on the client's thread that owns the KeyBatch.
#include "load/key_batch.h"

namespace kvdyno {

KeyBatch::KeyBatch(const Workload& workload)
    : workload_(workload),
      indices_(static_cast<size_t>(workload.settings().multi_read_size)),
      buffer_(indices_.size() * workload.keys().max_size()),
      keys_(indices_.size()),
      values_(indices_.size()),
      statuses_(indices_.size()) {}

void KeyBatch::Draw(KeyChooser* chooser, Random& random) {
  const size_t stride = workload_.keys().max_size();
  for (size_t i = 0; i < keys_.size(); ++i) {
    indices_[i] = chooser->Next(random);
    keys_[i] = workload_.Key(indices_[i], buffer_.data() + i * stride);
  }
}

Status KeyBatch::Get(Session* session) {
  session->MultiGet(keys_, &values_, &statuses_);
  found_ = bytes_ = 0;
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (!statuses_[i].ok()) {
      if (!statuses_[i].not_found()) return statuses_[i];
      continue;
    }
    ++found_;
    bytes_ += keys_[i].size() + values_[i].size();
  }
  return found_ == keys_.size() ? Status::Ok() : Status::NotFound();
}

Status KeyBatch::Verdict() const {
  for (size_t i = 0; i < keys_.size(); ++i) {
    Status verdict;
    if (statuses_[i].ok()) {
      verdict = workload_.values().Verify(indices_[i], values_[i]);
    } else if (workload_.keys_stay()) {
      verdict = Status::Corruption("expected the value that was written, found no such key");
    }
    if (verdict.ok()) continue;
    return {verdict.code(), "key '" + std::string(keys_[i]) + "': " + verdict.message()};
  }
  return Status::Ok();
}

}  // namespace kvdyno
