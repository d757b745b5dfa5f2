// The chunk store's options as properties: every member of chunkstore::Options that a user may set.
// Defaults are the struct's own; sizes that the store derives, or shares out by need, are words.
// Built before threads start; read-only afterwards.
#pragma once

#include <chunkstore/options.h>

#include <cstdint>
#include <string>

#include "kvdyno/api/options.h"

namespace kvdyno::chunks {

inline constexpr uint64_t kKiB = uint64_t{1} << 10;
inline constexpr uint64_t kMiB = uint64_t{1} << 20;
inline constexpr uint64_t kGiB = uint64_t{1} << 30;
inline constexpr uint64_t kTiB = uint64_t{1} << 40;

struct Options {
  chunkstore::Options store;
  // What the table cannot bind to directly: enumerations, and the types that the table has not.
  std::string durability = "async";
  std::string log_lookup = "index";
  int64_t bloom_split = store.bloom_split;
  int64_t max_open_files = static_cast<int64_t>(store.max_open_files);
  int64_t background_threads = store.background_threads;

  void Describe(OptionTable* table) {
    DescribeMemory(table);
    DescribeLayout(table);
    DescribeLogs(table);
    DescribeWork(table);
  }

  // The struct to open with. `sync` and `memory_cap_bytes` (0: none) are the driver's.
  chunkstore::Options Resolved(bool sync, uint64_t memory_cap_bytes) const {
    chunkstore::Options resolved = store;
    resolved.durability = sync                   ? chunkstore::Durability::kSync
                          : durability == "none" ? chunkstore::Durability::kNone
                                                 : chunkstore::Durability::kAsync;
    resolved.log_lookup =
        log_lookup == "bloom" ? chunkstore::LogLookup::kBloom : chunkstore::LogLookup::kIndex;
    resolved.bloom_split = static_cast<int>(bloom_split);
    resolved.max_open_files = static_cast<uint64_t>(max_open_files);
    resolved.background_threads = static_cast<int>(background_threads);
    resolved.trim_heap = true;  // the driver's process is the store's
    const bool derived = resolved.memory_budget == chunkstore::Options::kAuto;
    if (derived && memory_cap_bytes != 0) {
      resolved.memory_budget = chunkstore::Options::BudgetUnder(memory_cap_bytes);
    }
    return resolved;
  }

 private:
  void DescribeMemory(OptionTable* table) {
    table->Bytes(
        "memory_budget", &store.memory_budget,
        {.effect = "Memory for everything that the store holds, caches and staging ring "
                   "included. auto: fifteen sixteenths of the run's cap, less under caps below "
                   "192 MiB; the cap must be 37 MiB or more for that.",
         .min = chunkstore::Options::kLeastBudget,
         .max = kTiB,
         .shapes_data = true,
         .scales = true},
        kAuto);
    table->Bytes(
        "munk_cache_size", &store.munk_cache_size,
        {.effect = "Whole chunks held in memory; 0: none. adaptive: shares what is left of "
                   "the budget with the other adaptive caches, by what each byte earns.",
         .max = kTiB,
         .shapes_data = true,
         .scales = true},
        kAdaptive);
    table->Bytes("row_cache_size", &store.row_cache_size,
                 {.effect = "Single rows of chunks that are not in memory as a whole; 0: none.",
                  .max = kTiB,
                  .scales = true},
                 kAdaptive);
    table->Bytes(
        "block_cache_size", &store.block_cache_size,
        {.effect = "Blocks of tables and logs; 0: none, every block comes from the disk or, "
                   "with buffered I/O, from the page cache.",
         .max = kTiB,
         .scales = true},
        kAdaptive);
    table->Bytes("stage_size", &store.stage_size,
                 {.effect = "One of the three stages that absorb writes before they reach the "
                            "chunks. Larger ones are flushed less often, in longer runs per chunk. "
                            "auto: 1/30 of the budget, at most 128 MiB.",
                  .min = 64 * kKiB,
                  .max = kGiB,
                  .shapes_data = true,
                  .scales = true},
                 kAuto);
  }

  void DescribeLayout(OptionTable* table) {
    table->Bytes(
        "chunk_size", &store.chunk_size,
        {.effect = "Size above which a chunk is split; below a quarter it is merged with a "
                   "neighbour. auto: a 120th of the budget, at most 8 MiB.",
         .min = 4 * kKiB,
         .max = kGiB,
         .shapes_data = true,
         .scales = true},
        kAuto);
    table->Bytes(
        "block_size", &store.block_size,
        {.effect = "Block of a table or log, the unit of reading and caching. Larger blocks "
                   "make smaller indexes and larger reads.",
         .min = 256,
         .max = kMiB,
         .shapes_data = true});
    table->Real(
        "table_filter_bits", &store.table_filter_bits,
        {.effect = "Bits per key of a table's Bloom filter, held in memory with its index. 10 "
                   "save 99 of 100 reads for keys that are not there; 0: no filter.",
         .max = 32,
         .shapes_data = true});
  }

  void DescribeLogs(OptionTable* table) {
    table->Choice("log_lookup", &log_lookup, {"index", "bloom"},
                  {.effect = "How a read finds a key in a chunk's log. index: an ordered index in "
                             "memory, one read. bloom: as published, pieces with a Bloom filter "
                             "each, searched from end to end when the filter answers maybe."});
    table->Integer(
        "bloom_split", &bloom_split,
        {.effect = "Pieces of a log that have a filter each; only with log_lookup=bloom. "
                   "More of them: less to search after a filter's maybe.",
         .min = 1,
         .max = 16});
    table->Real("bloom_bits", &store.bloom_bits,
                {.effect = "Bits per key of these filters: 10 let about 1 % of needless searches "
                           "through.",
                 .min = 1,
                 .max = 32});
    table->Bytes("log_limit", &store.log_limit,
                 {.effect = "Log of a chunk without munk above which it is merged into the table. "
                            "Larger: fewer rewrites, more to search and more disk space. auto: the "
                            "chunk size, adapting to how the chunk is read.",
                  .min = 4 * kKiB,
                  .max = kTiB,
                  .shapes_data = true,
                  .scales = true},
                 kAuto);
    table->Bytes("munk_log_limit", &store.munk_log_limit,
                 {.effect = "The same for a chunk with munk, whose reads do not look at the log. "
                            "auto: ten times log_limit.",
                  .min = 4 * kKiB,
                  .max = kTiB,
                  .shapes_data = true,
                  .scales = true},
                 kAuto);
    table->Bytes("log_debt_limit", &store.log_debt_limit,
                 {.effect = "Size of all logs together at which writers are slowed down; at twice "
                            "that they wait. auto: a third of the data, at least 8 stages.",
                  .min = 64 * kKiB,
                  .max = kTiB,
                  .shapes_data = true,
                  .scales = true},
                 kAuto);
  }

  void DescribeWork(OptionTable* table) {
    table->Choice(
        "durability", &durability, {"async", "none"},
        {.effect = "What a write survives when the driver does not ask for sync: async the "
                   "process's death at once and a power loss up to the last checkpoint; "
                   "none neither before a flush."});
    table->Seconds("checkpoint_interval", &store.checkpoint_interval_s,
                   {.effect = "Time between checkpoints with durability=async. Shorter: less is "
                              "lost with the power, more of the ring is written to disk.",
                    .min = 0.01,
                    .max = 3600});
    table->Bool("direct_io", &store.direct_io,
                {.effect = "Read and write tables and logs past the page cache."});
    table->Bool("verify_checksums", &store.verify_checksums,
                {.effect = "Check every block that is read from the disk."});
    table->Integer("max_open_files", &max_open_files,
                   {.effect = "Segment files kept open.", .min = 16, .max = 1 << 20});
    table->Integer(
        "background_threads", &background_threads,
        {.effect = "Threads that flush and reorganise. 0: the writers and Flush do it all "
                   "themselves.",
         .max = 64});
  }

  static inline const std::vector<NamedBytes> kAuto = {{"auto", chunkstore::Options::kAuto}};
  static inline const std::vector<NamedBytes> kAdaptive = {
      {"adaptive", chunkstore::Options::kAdaptive}};
};

}  // namespace kvdyno::chunks
