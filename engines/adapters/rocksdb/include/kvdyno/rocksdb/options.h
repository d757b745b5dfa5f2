// RocksDB's options: the struct, its description, and its one mapping to RocksDB's own structs.
// Names are those of YCSB-cpp's binding where it has the option. Defaults are those of the library
// that is compiled in, whatever its version, but for compression. Built before threads start;
// read-only afterwards.
#pragma once

#include <rocksdb/options.h>

#include <cstdint>
#include <string>

#include "kvdyno/api/options.h"
#include "kvdyno/base/status.h"

namespace kvdyno::rocks {

inline constexpr uint64_t kKiB = uint64_t{1} << 10;
inline constexpr uint64_t kMiB = uint64_t{1} << 20;
inline constexpr uint64_t kGiB = uint64_t{1} << 30;

struct Options {
  Options();

  // Memory.
  uint64_t write_buffer_size;
  int64_t max_write_buffer_number;
  int64_t min_write_buffer_number_to_merge;
  uint64_t cache_size;
  uint64_t compressed_cache_size = 0;
  double cache_high_pri_pool_ratio = 0;
  bool cache_index_and_filter_blocks;
  bool pin_l0_filter_and_index_blocks_in_cache;
  int64_t max_open_files;

  // Shape of the tree.
  uint64_t target_file_size_base;
  int64_t target_file_size_multiplier;
  uint64_t max_bytes_for_level_base;
  double max_bytes_for_level_multiplier;
  bool level_compaction_dynamic_level_bytes;
  int64_t compaction_pri;
  int64_t level0_file_num_compaction_trigger;
  int64_t level0_slowdown_writes_trigger;
  int64_t level0_stop_writes_trigger;
  uint64_t soft_pending_compaction_bytes_limit;
  uint64_t hard_pending_compaction_bytes_limit;

  // Tables.
  uint64_t block_size;
  int64_t block_restart_interval;
  double bloom_bits = 0;
  std::string compression = "no";

  // Background work and input/output.
  int64_t max_background_jobs;
  int64_t max_subcompactions;
  uint64_t compaction_readahead_size;
  uint64_t bytes_per_sync;
  uint64_t wal_bytes_per_sync;
  bool use_direct_reads;
  bool use_direct_io_for_flush_compaction;
  bool allow_mmap_reads;
  bool allow_mmap_writes;
  bool advise_random_on_open;

  // RocksDB's own advice, which changes other options.
  bool increase_parallelism = false;
  bool optimize_level_style_compaction = false;

  // This adapter's own.
  std::string optionsfile;
  bool statistics = false;
  bool telemetry = true;

  void Describe(OptionTable* table);

  // RocksDB's structs for these options. Where something else decides, a file or RocksDB's advice,
  // the members are set to its values, so that a record shows the options in force.
  Status Translate(rocksdb::Options* result);
};

}  // namespace kvdyno::rocks
