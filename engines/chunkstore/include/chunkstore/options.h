// Options of the chunk store: one struct, each member with its unit, range, default and effect.
// A default is written here and nowhere else. Options are values, copied by Store::Open.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>

namespace kvdyno {
class FileSystem;
}

namespace chunkstore {

// What a returned Put promises. In every mode the store opens again, whatever happened.
enum class Durability : uint8_t {
  // It is in memory. The process's death loses what was not flushed.
  kNone,
  // It survives the process's death; a power loss cuts back to a consistent prefix of all writes
  // that holds at least everything before the last checkpoint.
  kAsync,
  // It survives a power loss.
  kSync,
};

// What happens beside the answers of calls: a store was opened or closed, recovery dropped writes,
// background work fails or works again. A few lines a minute at most, none of them per operation.
enum class LogLevel : uint8_t { kInfo, kWarning, kError };
class Logger {
 public:
  virtual ~Logger() = default;
  // One line, without a newline. From any thread, several at once. Must not call the store.
  virtual void Log(LogLevel level, std::string_view line) = 0;
};

class SharedBudget;

// How a read finds a key in a chunk's log.
enum class LogLookup : uint8_t {
  // An ordered index in memory, key to block: one read.
  kIndex,
  // As published: the log is cut into pieces, each summarised by a Bloom filter; a filter that
  // answers "maybe" costs a linear search of its piece.
  kBloom,
};

struct Options {
  // For the cache sizes: a share of the budget that follows what earns most.
  static constexpr uint64_t kAdaptive = UINT64_MAX;
  // For sizes that have a rule of their own: derived at Open; Store::options() returns the result.
  static constexpr uint64_t kAuto = 0;
  // What the ring, indexes and background work need besides caches.
  static constexpr uint64_t kLeastBudget = uint64_t{32} << 20;
  // The budget of a store that has a memory cap for itself. A sixteenth of the cap, but at least 12
  // MiB, is left for what the kernel charges to it beside the process, such as page tables and pages
  // of other files; under caps below 96 MiB an eighth.
  static constexpr uint64_t BudgetUnder(uint64_t cap) {
    const uint64_t left = std::max(cap / 16, uint64_t{12} << 20);
    return cap - std::min(cap / 8, left);
  }

  // --- the directory
  bool create_if_missing = true;
  bool error_if_exists = false;
  // Opens without writing a byte; the media may be read-only. Every write is refused. Several may
  // have a store open like this at once, but not beside one that writes (Busy, either way).
  bool read_only = false;

  // --- durability
  Durability durability = Durability::kAsync;
  // Seconds between checkpoints with kAsync, 0.01 to 3600. Shorter: less is lost with the power,
  // more of the staging ring is written to disk.
  double checkpoint_interval_s = 1;

  // --- memory
  // Bytes for everything that the store holds, what its allocations take of the process's resident
  // set and, with direct input/output, the page cache that it causes included; 32 MiB and more.
  // kAuto: BudgetUnder the memory cap of the process's cgroup, or the machine's memory.
  // With a shared budget: what this store is sized for, and gets whatever the others need; kAuto is
  // an eighth of it.
  uint64_t memory_budget = kAuto;
  // Null: the budget is this store's alone. See chunkstore/shared_budget.h.
  std::shared_ptr<SharedBudget> shared_budget;
  // Returns free pages of the process's heap to the machine once a second (malloc_trim), for a
  // hundredth of a CPU at most, and has large buffers mapped, so that they go back as soon as they
  // are free (M_MMAP_THRESHOLD, for the rest of the process's life). Without it the C library may
  // keep a quarter of the budget on top of it, because indexes and buffers of all sizes come and
  // go. Off: the heap is the host's.
  bool trim_heap = false;
  // Bytes of whole chunks held in memory, of single rows and of table blocks; 0 has no such
  // cache, kAdaptive shares what is left of the budget among those that are adaptive. Sizes that do
  // not fit the budget beside indexes, ring and buffers count as smaller.
  uint64_t munk_cache_size = kAdaptive;
  uint64_t row_cache_size = kAdaptive;
  uint64_t block_cache_size = kAdaptive;
  // Bytes of one stage of the ring that absorbs writes; the ring has three. 64 KiB to 1 GiB.
  // Larger: fewer, larger batches reach the chunks. kAuto: 1/30 of the budget, at most 128 MiB.
  uint64_t stage_size = kAuto;

  // --- layout
  // Bytes of a chunk above which it is split; below a quarter it is merged with a neighbour.
  // 4 KiB to 1 GiB. kAuto: a 120th of the budget, at most 8 MiB.
  uint64_t chunk_size = kAuto;
  // Bytes of one table block, 256 B to 1 MiB: what one read from disk brings at least.
  uint64_t block_size = 4096;
  // Bits per key of a table's Bloom filter, 0 to 32, in memory with the table's index once that was
  // read: a get of an absent key then reads nothing, but for one in a hundred with 10. 0: none.
  // Applies to tables that are written from now on. None is written while filters in memory take more
  // than an eighth of the budget.
  double table_filter_bits = 10;

  // --- logs
  LogLookup log_lookup = LogLookup::kIndex;
  // Pieces of a log with a Bloom filter each, 1 to 16. Only with kBloom.
  int bloom_split = 16;
  // Bits per key of these filters, 1 to 32.
  double bloom_bits = 10;
  // Bytes of a chunk's log above which table and log are merged; without and with a munk. 4 KiB
  // and more. Larger: fewer rewrites, more to search and more disk space.
  // kAuto: the chunk size, and ten times that with a munk.
  uint64_t log_limit = kAuto;
  uint64_t munk_log_limit = kAuto;
  // Bytes of all logs together at which writers are slowed down; at twice that they wait.
  // kAuto: 0.36 of what tables and logs hold, at least 8 stages.
  uint64_t log_debt_limit = kAuto;

  // --- input/output
  // Reads and writes of tables and logs past the page cache. Buffered where the file system has no
  // such thing (see the statistic "direct_io").
  bool direct_io = true;
  // Compare every block read from disk with its checksum.
  bool verify_checksums = true;
  // Segment files held open, 16 and more.
  uint64_t max_open_files = 512;

  // --- background work
  // Threads that reorganise chunks, 0 to 64. 0: writers and Flush do all background work
  // themselves, in a fixed order; for tests that must be repeatable.
  int background_threads = 1;

  // Not owned, must outlive the store; null: nothing is logged.
  Logger* logger = nullptr;
  // Not owned, must outlive the store; null: the machine's own.
  kvdyno::FileSystem* file_system = nullptr;
};

}  // namespace chunkstore
