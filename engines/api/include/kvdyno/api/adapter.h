// The contract between the driver and an engine's binding.
// An adapter owns one open store and its options; it must not know workloads, phases or
// measurements. A newcomer implements Adapter and Session, and a factory function.
//
// Threads: Open, Settle and Close are called by one thread while no session is in use; Sample,
// TakeEvents and Debt may be called by one other thread at any time between Open and Close. A
// session belongs to one thread; different sessions run at the same time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kvdyno/api/event.h"
#include "kvdyno/api/library.h"
#include "kvdyno/api/options.h"
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

// One observation of an engine's own counters. `cumulative` values only grow while the store is
// open, and the driver reports their differences per phase; others are levels at this moment.
struct Counter {
  std::string name;  // "stall_micros", "level0_files": snake_case, no engine prefix
  double value = 0;
  std::string unit;  // "op", "byte", "s", "us", "count", "ratio"
  bool cumulative = true;
};

// How long gets took that one component of the engine answered, as far as it timed them: counts since
// the store was opened, in buckets with ascending upper ends.
struct ComponentLatency {
  struct Bucket {
    double ns_max = 0;
    uint64_t count = 0;
  };
  std::string component;  // "row_cache": snake_case
  std::vector<Bucket> buckets;
};

struct OpenContext {
  std::string directory;  // exists and is writable; the store owns everything in it
  uint64_t memory_cap_bytes =
      0;              // of the process's cgroup, for engines that size themselves; 0: none
  bool sync = false;  // every write durable before it returns
  bool log = true;  // false: no write-ahead log. Only where Adapter::can_skip_log, never with sync
};

// What an acknowledged write survives.
struct Durability {
  bool survives_process = false;  // the engine's process is killed
  bool survives_power = false;    // the machine loses power
  // Age of the acknowledged writes that a power cut may take, at most: 0 for none, nothing without
  // a bound.
  std::optional<double> power_loss_seconds = {};
  // What a power cut leaves are all writes up to some moment.
  bool consistent_prefix = false;
  std::string note;  // the mechanism
};

class Adapter {
 public:
  virtual ~Adapter() = default;

  virtual std::string engine_name() const = 0;     // "rocksdb"
  virtual std::string engine_version() const = 0;  // of the library at run time: "7.8.3"
  virtual std::string summary() const = 0;         // a sentence for `describe`, with its source

  // The engine's own library, probed in this process; nothing where there is none.
  virtual std::optional<LibraryFacts> library() const { return std::nullopt; }

  // Facts about this build that a reader of a comparison must know ("software crc32c").
  virtual std::vector<std::string> caveats() const { return {}; }

  // Glob patterns of files that are written once and never changed afterwards: a snapshot may
  // link them instead of copying. Everything else is copied.
  virtual std::vector<std::string> write_once_files() const { return {}; }

  // What an acknowledged write survives with the options as they are and this OpenContext::sync.
  // Nothing when the engine's interface does not define it.
  virtual std::optional<Durability> durability(bool /*sync*/) const { return std::nullopt; }

  // Options of this engine; filled from properties "<engine>.<name>" before Open.
  virtual OptionTable& options() = 0;

  // Opens the store in the directory, creating it when the directory is empty. Every file is
  // opened with random-access advice, so that comparisons do not measure readahead.
  virtual Status Open(const OpenContext& context) = 0;

  // May be called by another thread than the session's. What cannot be reported here is left to the
  // session's first operation.
  virtual std::unique_ptr<Session> NewSession() = 0;

  // False where an engine's interface has no such operation as Settle: a run then has no phases
  // settle and drain.
  virtual bool can_settle() const { return true; }

  // Whether sessions have ReverseScan. False: a run with such operations is refused.
  virtual bool can_scan_reverse() const { return false; }

  // Whether the store can be opened without a log: writes are then lost with the process until
  // something, such as Settle, writes them out.
  virtual bool can_skip_log() const { return false; }

  // Writes out everything that is buffered and returns when no background work is left. With
  // `debt_max` it goes on, as far as the engine can be asked to, until Debt() is at most that.
  // Unsupported when it cannot settle.
  virtual Status Settle(std::optional<uint64_t> debt_max) = 0;

  // Bytes that the engine would still rewrite at leisure, by its own rules. Nothing when it cannot
  // be known. Cheap enough for the border between two phases. Engines count different things:
  // compare changes of one engine, not debts of two.
  virtual std::optional<uint64_t> Debt() { return std::nullopt; }

  // Appends this moment's counters. Cheap enough to be called every second.
  virtual void Sample(std::vector<Counter>* counters) = 0;

  // Appends the latencies of each component that answers gets, always the same buckets. Called at the
  // borders between phases, by the thread that calls Sample.
  virtual void SampleComponents(std::vector<ComponentLatency>* /*components*/) {}

  // Appends the events that ended since the last call. Called every second while work goes on, and
  // once more after Close, when those that had not ended are reported too.
  virtual void TakeEvents(std::vector<Event>* /*events*/) {}

  // Releases the store; sessions are gone by then. Called once after an Open that succeeded, also
  // when the run failed; not after a failed Open, which leaves nothing to release.
  virtual Status Close() = 0;
};

// Every adapter's library defines this one function: a closed adapter with default options.
std::unique_ptr<Adapter> MakeAdapter();

}  // namespace kvdyno
