// The contract between a driver and what it measures, whatever operations that offers.
// An engine owns its state and its options; it must not know workloads, phases or measurements. A store of keys and
// values implements Adapter (adapter.h), which adds sessions.
//
// Threads: Open, Settle and Close are called by one thread while no client works; Sample, TakeEvents and Debt may be
// called by one other thread at any time between Open and Close.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kvdyno/api/event.h"
#include "kvdyno/api/library.h"
#include "kvdyno/api/options.h"
#include "kvdyno/base/status.h"

namespace kvdyno {

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

class Engine {
 public:
  virtual ~Engine() = default;

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

  // False where an engine's interface has no such operation as Settle: a run then has no phases
  // settle and drain.
  virtual bool can_settle() const { return true; }

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

}  // namespace kvdyno
