// Reopening: what a killed run left, and how its store comes back.
// Owns the killed run's acknowledged writes and rate; borrows the workload. Knows no phases.
// Used by the main thread alone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kvdyno/api/adapter.h"
#include "load/acknowledged.h"
#include "load/workload.h"

namespace kvdyno {

class Reopening {
 public:
  // What the check of acknowledged writes found, in rows.
  struct Found {
    uint64_t checked = 0;
    uint64_t lost = 0;         // older than a write that was acknowledged, or not there
    uint64_t overwritten = 0;  // since the store was opened: not checked
    Status first_lost;         // which it is, what was expected, what was found
  };

  // Reads what the killed run left in `reopen.from`.
  static Status Make(const Workload& workload, std::unique_ptr<Reopening>* reopening);

  // Gets the newest acknowledged key. Ok when the answer is a value that was written to it, whichever
  // version; the check compares versions.
  Status FirstGet(Session* session) const;

  // Gets the next keys of the acknowledged writes, `keys_max` at most: first those that were written
  // last, which are what a kill would take. An error is the engine's.
  Status Check(Session* session, size_t keys_max);
  const Found& found() const { return found_; }

  // Operations a second of the measured phase's last third before the kill; nothing when the series
  // had none by then.
  std::optional<double> rate_before() const { return rate_before_; }
  // Length of the engine's log in the series' last row, where the engine counts it.
  std::optional<double> log_bytes() const { return log_bytes_; }

 private:
  explicit Reopening(const Workload& workload) : workload_(workload) {}

  // The acknowledged writes of one key.
  struct Key {
    uint64_t index = 0;
    std::vector<AcknowledgedWrite> writes;
    uint64_t last_begin_ns = 0;
  };

  Status ReadSeries(const std::string& path);
  void CollectKeys();
  // Writes of one key that any order of overlapping writes may have left as the newest.
  bool MayRemain(uint64_t sequence, const Key& key) const;
  Status Judge(const Key& key, const Status& got, const std::string& value);

  const Workload& workload_;
  std::vector<ClientWrites> clients_;
  std::vector<Key> keys_;  // that can be judged, those written last first
  size_t next_ = 0;        // of keys_
  Found found_;
  std::optional<double> rate_before_;
  std::optional<double> log_bytes_;
};

}  // namespace kvdyno
