// State: all that the parts of an open store share.
// Owns the objects; what may be done to them is the business of Writer (puts), Reader (gets, scans)
// and maintenance (everything that changes chunks). Each member notes who changes it and how others
// see it.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "chunkstore/options.h"
#include "concurrency/call_gate.h"
#include "concurrency/slots.h"
#include "core/budget.h"
#include "core/chunk.h"
#include "core/counters.h"
#include "core/pace.h"
#include "core/snapshots.h"
#include "funk/segments.h"
#include "kvdyno/base/file_system.h"
#include "kvdyno/base/mutex.h"
#include "manifest/manifest.h"
#include "memory/block_cache.h"
#include "memory/row_cache.h"
#include "stage/ring.h"

namespace chunkstore {

// The unflushed stages, newest first. Immutable; replaced under State::write_mutex.
struct StageList {
  std::vector<std::shared_ptr<Stage>> stages;
};

// Writes of several operations: those that are not yet in all indexes, and how many ever began.
class Batches {
 public:
  struct Seen {
    uint64_t begun_and_pending;
    bool none_pending() const { return (begun_and_pending & kPendingMask) == 0; }
    bool operator==(const Seen&) const = default;
  };
  void Begin() { counts_.fetch_add(kOneBegun | 1); }
  void End() { counts_.fetch_sub(1); }
  // If two are equal and none is pending, a lookup between them saw no part of a batch.
  Seen now() const { return {counts_.load()}; }

 private:
  static constexpr uint64_t kOneBegun = uint64_t{1} << 32, kPendingMask = kOneBegun - 1;
  std::atomic<uint64_t> counts_{0};
};

struct State {
  explicit State(const Options& resolved)
      : options(resolved), spare_pages(resolved.chunk_size * 3 / 2) {}
  ~State();

  const Options options;  // resolved: no automatic value is left
  std::string directory;
  kvdyno::FileSystem* files = nullptr;
  LogPolicy log_policy;
  std::unique_ptr<BudgetMember> shared_budget;  // null: the budget is the store's alone
  SparePages spare_pages;                       // of munks; before all that may hold some

  // --- time
  std::atomic<Version> clock{0};  // the last version given out; grows under write_mutex
  Batches batches;
  Slots slots;
  Snapshots snapshots{&clock};

  // --- writes
  kvdyno::Mutex write_mutex;  // order of all writes; the active stage; stage_list
  kvdyno::CondVar room;       // with write_mutex: a stage was released, or an error was set
  std::shared_ptr<Stage> active KVDYNO_GUARDED_BY(write_mutex);  // null when read-only
  std::atomic<const StageList*> stages{new StageList};
  uint64_t next_sequence KVDYNO_GUARDED_BY(write_mutex) = 1;
  std::unique_ptr<Ring> ring;
  kvdyno::Mutex checkpoint_mutex;  // one checkpoint at a time; stages are not reused meanwhile
  Pace pace;                       // of writes, as maintenance can follow
  std::atomic<bool> wake_on_write{false};  // set by maintenance: the next write calls it

  std::atomic<bool> filters_fit{true};  // set by maintenance: tables may have filters

  // --- data: changed by maintenance alone (State::maintenance_mutex), read by the pinned
  kvdyno::Mutex maintenance_mutex;
  std::atomic<const ChunkMap*> chunks{nullptr};
  uint64_t next_chunk_id = 1;  // under maintenance_mutex
  std::unique_ptr<Segments> segments;
  std::unique_ptr<Manifest> manifest;
  std::unique_ptr<BlockCache> blocks;  // null when its size is 0
  std::unique_ptr<RowCache> rows;      // null when its size is 0

  Counters counters;

  // --- errors
  // Why writes are refused for good (a failed sync); set once.
  Status fatal() const;
  void SetFatal(const Status& status);
  // Why no stage is released; Ok once flushing works again. Neither call needs or takes
  // write_mutex.
  Status flush_error() const;
  void SetFlushError(const Status& status);
  std::atomic<bool> has_fatal{false};
  // To Options::logger, if there is one: "<directory>: <text>".
  void Log(LogLevel level, const std::string& text) const;

  // Closed: calls answer InvalidArgument. Every call is inside but a get of the newest value, which
  // looks at it pinned.
  CallGate gate;
  // What a call that comes too late answers.
  Status ClosedError(const char* operation) const;

  const ChunkMap& map() const { return *chunks.load(); }
  // Background work gives free pages of the heap back.
  bool trims_heap() const { return options.trim_heap && options.background_threads > 0; }
  ReadContext read_context(bool fill_cache) {
    return {segments.get(), blocks.get(), fill_cache, options.verify_checksums};
  }
  SortedRunForm table_form() const {
    const double filter_bits = filters_fit.load() ? options.table_filter_bits : 0;
    return {.block_size = options.block_size, .filter_bits = filter_bits};
  }
  SortedRunForm log_form() const { return {.block_size = options.block_size, .keep_keys = true}; }

 private:
  mutable kvdyno::Mutex error_mutex_;
  Status fatal_ KVDYNO_GUARDED_BY(error_mutex_);
  Status flush_error_ KVDYNO_GUARDED_BY(error_mutex_);
};

}  // namespace chunkstore
