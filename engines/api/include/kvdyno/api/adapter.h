// The contract between the driver and a store's binding.
// An adapter is an engine (engine.h) whose operations are those of keys and values. A newcomer implements Adapter
// and Session, and a factory function.
//
// Threads: those of Engine. A session belongs to one thread; different sessions run at the same time, and none is in
// use during Open, Settle and Close.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "kvdyno/api/engine.h"
#include "kvdyno/base/status.h"

namespace kvdyno {

// Receives a scan's rows in the scan's order. The views live until Row returns.
class RowVisitor {
 public:
  virtual ~RowVisitor() = default;
  // Returns false to end the scan early (which is not an error). The key is empty where an
  // engine's interface returns rows without their keys, as YCSB-cpp's does.
  virtual bool Row(std::string_view key, std::string_view value) = 0;
};

struct ScanRange {
  std::string_view start = {};  // inclusive; empty: from the first key
  std::string_view end = {};    // exclusive; empty: to the last key
  uint64_t limit = 0;           // rows at most; 0: no limit
};

// One client thread's handle.
class Session {
 public:
  virtual ~Session() = default;

  // NotFound leaves *value unspecified. *value's capacity is reused from call to call.
  virtual Status Get(std::string_view key, std::string* value) = 0;

  // Gets of several keys as one request; a key may come twice. (*values)[i] and (*statuses)[i]
  // belong to keys[i], as Get would set them; both vectors are resized, and values' capacities
  // reused. Engines that have such a request override it.
  virtual void MultiGet(const std::vector<std::string_view>& keys, std::vector<std::string>* values,
                        std::vector<Status>* statuses) {
    values->resize(keys.size());
    statuses->resize(keys.size());
    for (size_t i = 0; i < keys.size(); ++i) (*statuses)[i] = Get(keys[i], &(*values)[i]);
  }

  // Writes, whether or not the key exists (a blind update).
  virtual Status Put(std::string_view key, std::string_view value) = 0;

  // Writes a key that the caller believes to be new. Engines that distinguish the two override it.
  virtual Status Insert(std::string_view key, std::string_view value) { return Put(key, value); }

  // Deleting a key that does not exist is Ok.
  virtual Status Delete(std::string_view key) = 0;

  // Rows of the range in key order, at most `limit`. Unsupported for a store without order.
  virtual Status Scan(const ScanRange& range, RowVisitor* visitor) = 0;

  // The same in descending order: from the last key that is not above `start` (empty: from the last
  // key of all) down to `end`, which is excluded (empty: to the first key). Engines that can go
  // backwards override it, and Adapter::can_scan_reverse.
  virtual Status ReverseScan(const ScanRange& /*range*/, RowVisitor* /*visitor*/) {
    return Status::Unsupported("reverse scan: the engine's interface has none");
  }
};

class Adapter : public Engine {
 public:
  // May be called by another thread than the session's. What cannot be reported here is left to the
  // session's first operation.
  virtual std::unique_ptr<Session> NewSession() = 0;

  // Whether sessions have ReverseScan. False: a run with such operations is refused.
  virtual bool can_scan_reverse() const { return false; }

  // Whether the store can be opened without a log: writes are then lost with the process until
  // something, such as Settle, writes them out.
  virtual bool can_skip_log() const { return false; }
};

// Every adapter's library defines this one function: a closed adapter with default options.
std::unique_ptr<Adapter> MakeAdapter();

}  // namespace kvdyno
