// LevelDB's options under the names that YCSB-cpp's binding gives them. Defaults are LevelDB's, but
// for compression. Ranges are the ones to which LevelDB would silently cut a value.
// Built before threads start; read-only afterwards.
#pragma once

#include <cstdint>
#include <string>

#include "kvdyno/api/options.h"

namespace kvdyno::level {

inline constexpr uint64_t kKiB = uint64_t{1} << 10;
inline constexpr uint64_t kMiB = uint64_t{1} << 20;
inline constexpr uint64_t kGiB = uint64_t{1} << 30;

struct Options {
  uint64_t write_buffer_size = 4 * kMiB;
  uint64_t max_file_size = 2 * kMiB;
  int64_t max_open_files = 1000;
  std::string compression = "no";
  uint64_t cache_size = 8 * kMiB;
  int64_t filter_bits = 0;
  uint64_t block_size = 4 * kKiB;
  int64_t block_restart_interval = 16;
  bool verify_checksums = false;
  int64_t mapped_files = 1000;

  void Describe(OptionTable* table) {
    table->Bytes("write_buffer_size", &write_buffer_size,
                 {.effect = "Size at which the memtable is written out; up to two are in memory. "
                            "Larger ones make fewer compactions and longer waits.",
                  .min = 64 * kKiB,
                  .max = 1 * kGiB,
                  .shapes_data = true,
                  .scales = true,
                  .default_word = "0"});
    table->Bytes("max_file_size", &max_file_size,
                 {.effect = "Size of table files. Level sizes are constants of LevelDB (10 MiB at "
                            "level 1, ten times more at each further one) and do not follow it.",
                  .min = 1 * kMiB,
                  .max = 1 * kGiB,
                  .shapes_data = true,
                  .scales = true,
                  .default_word = "0"});
    table->Integer("max_open_files", &max_open_files,
                   {.effect = "Tables kept open, with their indexes and filters in memory.",
                    .min = 74,
                    .max = 50000,
                    .default_word = "0"});
    table->Choice("compression", &compression, {"no", "snappy"},
                  {.effect = "Compression of table blocks.", .shapes_data = true});
    table->Bytes("cache_size", &cache_size,
                 {.effect = "Block cache, for tables that are not mapped (mapped_files): LevelDB "
                            "does not cache an uncompressed block that it reads from a map. Blocks "
                            "that it does not hold come from the page cache or the disk.",
                  .min = 64 * kKiB,
                  .max = 1024 * kGiB,
                  .scales = true,
                  .default_word = "0"});
    table->Integer("filter_bits", &filter_bits,
                   {.effect = "Bloom filter bits per key; 10 let about 1 % of needless block reads "
                              "through; 0: no filter.",
                    .max = 64,
                    .shapes_data = true});
    table->Bytes(
        "block_size", &block_size,
        {.effect = "Data in a table's block, the unit of reading and caching. Larger blocks "
                   "make smaller indexes and larger reads.",
         .min = 1 * kKiB,
         .max = 4 * kMiB,
         .shapes_data = true,
         .default_word = "0"});
    table->Integer("block_restart_interval", &block_restart_interval,
                   {.effect = "Keys between two that are stored whole: larger saves space, smaller "
                              "finds a key sooner.",
                    .min = 1,
                    .max = 1024,
                    .shapes_data = true,
                    .default_word = "0"});
    table->Bool("verify_checksums", &verify_checksums,
                {.effect = "Check every block that is read. LevelDB does not by default, unlike "
                           "RocksDB."});
    table->Integer("mapped_files", &mapped_files,
                   {.effect = "Open tables that are mapped into memory, whose uncompressed blocks "
                              "the block cache passes over; further ones are read by system calls. "
                              "Both carry random-access advice. 0 lets the block cache work.",
                    .max = 1 << 20});
  }
};

}  // namespace kvdyno::level
