// KeyBatch: the keys of one multi-get and what it returned, and can check them.
// Owns keys and values; borrows the workload that knows what was written.
// One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kvdyno/api/adapter.h"
#include "load/workload.h"

namespace kvdyno {

class KeyBatch {
 public:
  // As many keys as the workload's multi-gets have.
  explicit KeyBatch(const Workload& workload);

  // Chooses the next multi-get's keys; one may come twice.
  void Draw(KeyChooser* chooser, Random& random);

  // Asks for all of them: NotFound if a key has no value, and any other error of a key.
  Status Get(Session* session);

  uint64_t size() const { return keys_.size(); }
  std::string_view first() const { return keys_.front(); }

  // What the last Get returned: keys that have values, and bytes of these and their values.
  uint64_t found() const { return found_; }
  uint64_t bytes() const { return bytes_; }

  // After a Get: the first key whose answer is not what was written.
  Status Verdict() const;

 private:
  const Workload& workload_;
  std::vector<uint64_t> indices_;
  std::vector<char> buffer_;  // of all keys, one after the other
  std::vector<std::string_view> keys_;
  std::vector<std::string> values_;
  std::vector<Status> statuses_;
  uint64_t found_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace kvdyno
