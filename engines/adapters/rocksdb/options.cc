#include "kvdyno/rocksdb/options.h"

#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/table.h>

#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "drift.h"

namespace kvdyno::rocks {

namespace {

struct CompressionName {
  const char* name;  // as YCSB-cpp spells it
  rocksdb::CompressionType type;
};
constexpr std::array<CompressionName, 7> kCompressions = {{{"no", rocksdb::kNoCompression},
                                                           {"snappy", rocksdb::kSnappyCompression},
                                                           {"zlib", rocksdb::kZlibCompression},
                                                           {"bzip2", rocksdb::kBZip2Compression},
                                                           {"lz4", rocksdb::kLZ4Compression},
                                                           {"lz4hc", rocksdb::kLZ4HCCompression},
                                                           {"zstd", rocksdb::kZSTD}}};

std::vector<std::string> CompressionChoices() {
  std::vector<std::string> names;
  names.reserve(kCompressions.size());
  for (const CompressionName& compression : kCompressions) names.emplace_back(compression.name);
  return names;
}

// Calls visit(ours, theirs) for every option that both sides hold as a number or a flag. The one
// place that knows which of ours is which of theirs; it is read in both directions.
template <typename Visit>
void VisitPairs(Options* ours, rocksdb::Options* db, rocksdb::BlockBasedTableOptions* table,
                Visit visit) {
  visit(&ours->write_buffer_size, &db->write_buffer_size);
  visit(&ours->max_write_buffer_number, &db->max_write_buffer_number);
  visit(&ours->min_write_buffer_number_to_merge, &db->min_write_buffer_number_to_merge);
  visit(&ours->cache_index_and_filter_blocks, &table->cache_index_and_filter_blocks);
  visit(&ours->pin_l0_filter_and_index_blocks_in_cache,
        &table->pin_l0_filter_and_index_blocks_in_cache);
  visit(&ours->max_open_files, &db->max_open_files);
  visit(&ours->target_file_size_base, &db->target_file_size_base);
  visit(&ours->target_file_size_multiplier, &db->target_file_size_multiplier);
  visit(&ours->max_bytes_for_level_base, &db->max_bytes_for_level_base);
  visit(&ours->max_bytes_for_level_multiplier, &db->max_bytes_for_level_multiplier);
  visit(&ours->level_compaction_dynamic_level_bytes, &db->level_compaction_dynamic_level_bytes);
  visit(&ours->compaction_pri, &db->compaction_pri);
  visit(&ours->level0_file_num_compaction_trigger, &db->level0_file_num_compaction_trigger);
  visit(&ours->level0_slowdown_writes_trigger, &db->level0_slowdown_writes_trigger);
  visit(&ours->level0_stop_writes_trigger, &db->level0_stop_writes_trigger);
  visit(&ours->soft_pending_compaction_bytes_limit, &db->soft_pending_compaction_bytes_limit);
  visit(&ours->hard_pending_compaction_bytes_limit, &db->hard_pending_compaction_bytes_limit);
  visit(&ours->block_size, &table->block_size);
  visit(&ours->block_restart_interval, &table->block_restart_interval);
  visit(&ours->max_background_jobs, &db->max_background_jobs);
  visit(&ours->max_subcompactions, &db->max_subcompactions);
  visit(&ours->compaction_readahead_size, &db->compaction_readahead_size);
  visit(&ours->bytes_per_sync, &db->bytes_per_sync);
  visit(&ours->wal_bytes_per_sync, &db->wal_bytes_per_sync);
  visit(&ours->use_direct_reads, &db->use_direct_reads);
  visit(&ours->use_direct_io_for_flush_compaction, &db->use_direct_io_for_flush_and_compaction);
  visit(&ours->allow_mmap_reads, &db->allow_mmap_reads);
  visit(&ours->allow_mmap_writes, &db->allow_mmap_writes);
  visit(&ours->advise_random_on_open, &db->advise_random_on_open);
}

struct ToRocks {
  template <typename Ours, typename Theirs>
  void operator()(const Ours* ours, Theirs* theirs) const {
    *theirs = static_cast<Theirs>(*ours);
  }
};

struct FromRocks {
  template <typename Ours, typename Theirs>
  void operator()(Ours* ours, const Theirs* theirs) const {
    *ours = static_cast<Ours>(*theirs);
  }
};

// The choice for a compression, or nothing for one that is none.
std::string NameOf(rocksdb::CompressionType type) {
  for (const CompressionName& known : kCompressions) {
    if (known.type == type) return known.name;
  }
  return "";
}

// RocksDB's advice, and what it changed.
void FollowAdvice(Options* ours, rocksdb::Options* result, rocksdb::BlockBasedTableOptions* table) {
  if (ours->increase_parallelism) result->IncreaseParallelism();
  if (ours->optimize_level_style_compaction) {
    result->OptimizeLevelStyleCompaction();
    ours->compression = NameOf(result->compression_per_level.back());
  }
  VisitPairs(ours, result, table, FromRocks());
}

Status BadFile(const std::string& file, const std::string& problem) {
  return Status::InvalidArgument("option optionsfile " + file + ": " + problem);
}

Status LoadFile(Options* ours, rocksdb::Options* result) {
  rocksdb::DBOptions db_options;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  const rocksdb::Status loaded = LoadOptions(ours->optionsfile, &db_options, &families);
  if (!loaded.ok()) return BadFile(ours->optionsfile, loaded.ToString());
  if (families.size() != 1) {
    return BadFile(ours->optionsfile, "expected the default column family alone, got " +
                                          std::to_string(families.size()) + " families");
  }
  *result = rocksdb::Options(db_options, families[0].options);
  const auto* file_table = TableOptionsOf(result->table_factory.get());
  if (file_table == nullptr) {
    return BadFile(ours->optionsfile, std::string("expected block-based tables, got ") +
                                          result->table_factory->Name());
  }

  const std::optional<double> bloom_bits =
      file_table->filter_policy ? BloomBits(*file_table->filter_policy) : 0;
  if (!bloom_bits) {
    return BadFile(ours->optionsfile, "expected no filter_policy, whose bits RocksDB " +
                                          LibraryVersion() + " does not name, got one");
  }

  rocksdb::BlockBasedTableOptions table = *file_table;
  VisitPairs(ours, result, &table, FromRocks());
  ours->bloom_bits = *bloom_bits;
  ours->compression = NameOf(result->compression);
  ours->compressed_cache_size = 0;
  ours->increase_parallelism = false;
  ours->optimize_level_style_compaction = false;
  table.block_cache = MakeBlockCache(ours->cache_size, ours->cache_high_pri_pool_ratio);
  result->table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return Status::Ok();
}

}  // namespace

Options::Options() {
  rocksdb::Options db;
  const std::unique_ptr<rocksdb::TableFactory> factory(rocksdb::NewBlockBasedTableFactory());
  rocksdb::BlockBasedTableOptions table = *TableOptionsOf(factory.get());
  VisitPairs(this, &db, &table, FromRocks());
  cache_size = table.block_cache->GetCapacity();
}

Status Options::Translate(rocksdb::Options* result) {
  if (!optionsfile.empty()) return LoadFile(this, result);
  rocksdb::BlockBasedTableOptions table;
  VisitPairs(this, result, &table, ToRocks());
  for (const CompressionName& known : kCompressions) {
    if (compression == known.name) result->compression = known.type;
  }
  table.block_cache = MakeBlockCache(cache_size, cache_high_pri_pool_ratio);
  if (bloom_bits > 0) table.filter_policy.reset(MakeBloomFilter(bloom_bits));
  if (Status set = SetCompressedCache(compressed_cache_size, &table); !set.ok()) return set;
  FollowAdvice(this, result, &table);
  result->table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return Status::Ok();
}

namespace {

void DescribeMemory(Options* o, OptionTable* table) {
  table->Bytes("write_buffer_size", &o->write_buffer_size,
               {.effect = "Size at which a memtable is written out. Larger ones mean fewer, larger "
                          "files at level 0 and less write amplification, and take memory.",
                .min = 64 * kKiB,
                .max = 64 * kGiB,
                .shapes_data = true,
                .scales = true,
                .default_word = "0"});
  table->Integer("max_write_buffer_number", &o->max_write_buffer_number,
                 {.effect = "Memtables in memory, the active one included, before writes wait.",
                  .min = 1,
                  .max = 64,
                  .default_word = "0"});
  table->Integer("min_write_buffer_number_to_merge", &o->min_write_buffer_number_to_merge,
                 {.effect = "Full memtables that are merged into one file at level 0.",
                  .min = 1,
                  .max = 64,
                  .shapes_data = true});
  table->Bytes(
      "cache_size", &o->cache_size,
      {.effect = "Block cache. Blocks that it does not hold come from the page cache or the "
                 "disk and are checked and unpacked again.",
       .min = 64 * kKiB,
       .max = 1024 * kGiB,
       .scales = true,
       .default_word = "0"});
  table->Real(
      "cache_high_pri_pool_ratio", &o->cache_high_pri_pool_ratio,
      {.effect = "Share of the block cache for blocks that were hit before, and for indexes "
                 "and filters kept in it, which single reads do not evict. RocksDB's own "
                 "cache has none. Since 10.7 that is a hyper clock cache, which has no such share: "
                 "above 0, an LRU cache takes its place.",
       .max = 1});
  table->Bytes("compressed_cache_size", &o->compressed_cache_size,
               {.effect = "A further cache, of blocks as they are on disk; 0: none. Only before "
                          "RocksDB 8.",
                .max = 1024 * kGiB,
                .scales = true});
  table->Bool("cache_index_and_filter_blocks", &o->cache_index_and_filter_blocks,
              {.effect = "Keep indexes and filters in the block cache, so that their memory is "
                         "bounded, instead of beside it."});
  table->Bool("pin_l0_filter_and_index_blocks_in_cache",
              &o->pin_l0_filter_and_index_blocks_in_cache,
              {.effect = "Never evict level 0's indexes and filters; matters only with "
                         "cache_index_and_filter_blocks."});
  table->Integer(
      "max_open_files", &o->max_open_files,
      {.effect = "Tables kept open; -1: all. A table that is not open is opened for a read.",
       .min = -1,
       .max = 1 << 20,
       .default_word = "0"});
}

void DescribeTree(Options* o, OptionTable* table) {
  table->Bytes("target_file_size_base", &o->target_file_size_base,
               {.effect = "Size of files at level 1. Smaller files make finer compactions and more "
                          "files to open.",
                .min = 64 * kKiB,
                .max = 64 * kGiB,
                .shapes_data = true,
                .scales = true,
                .default_word = "0"});
  table->Integer("target_file_size_multiplier", &o->target_file_size_multiplier,
                 {.effect = "How much larger files are from level to level.",
                  .min = 1,
                  .max = 100,
                  .shapes_data = true,
                  .default_word = "0"});
  table->Bytes("max_bytes_for_level_base", &o->max_bytes_for_level_base,
               {.effect = "Size of level 1; best near that of level 0 when its compaction starts.",
                .min = 256 * kKiB,
                .max = 1024 * kGiB,
                .shapes_data = true,
                .scales = true,
                .default_word = "0"});
  table->Real(
      "max_bytes_for_level_multiplier", &o->max_bytes_for_level_multiplier,
      {.effect = "How much larger levels are from one to the next: larger means fewer levels "
                 "to read and more to rewrite.",
       .min = 2,
       .max = 100,
       .shapes_data = true});
  table->Bool("level_compaction_dynamic_level_bytes", &o->level_compaction_dynamic_level_bytes,
              {.effect = "Size levels from the last one upwards, which bounds the space that "
                         "overwritten data takes.",
               .shapes_data = true});
  table->Integer("compaction_pri", &o->compaction_pri,
                 {.effect = "Which file to compact first: 0 by compensated size, 1 oldest largest "
                            "sequence, 2 oldest smallest sequence, 3 least overlap, 4 round robin.",
                  .min = 0,
                  .max = 4,
                  .shapes_data = true,
                  .default_word = "-1"});
  table->Integer("level0_file_num_compaction_trigger", &o->level0_file_num_compaction_trigger,
                 {.effect = "Files at level 0 that start a compaction; reads visit each of them.",
                  .min = 1,
                  .max = 10000,
                  .shapes_data = true,
                  .default_word = "0"});
  table->Integer("level0_slowdown_writes_trigger", &o->level0_slowdown_writes_trigger,
                 {.effect = "Files at level 0 from which writes are slowed down.",
                  .min = 1,
                  .max = 10000,
                  .shapes_data = true,
                  .default_word = "0"});
  table->Integer("level0_stop_writes_trigger", &o->level0_stop_writes_trigger,
                 {.effect = "Files at level 0 at which writes stop.",
                  .min = 1,
                  .max = 10000,
                  .shapes_data = true,
                  .default_word = "0"});
  table->Bytes("soft_pending_compaction_bytes_limit", &o->soft_pending_compaction_bytes_limit,
               {.effect = "Compaction debt from which writes are slowed down; 0: no limit.",
                .max = 1024.0 * 1024 * kGiB,
                .scales = true});
  table->Bytes("hard_pending_compaction_bytes_limit", &o->hard_pending_compaction_bytes_limit,
               {.effect = "Compaction debt at which writes stop; 0: no limit.",
                .max = 1024.0 * 1024 * kGiB,
                .scales = true});
}

void DescribeTables(Options* o, OptionTable* table) {
  table->Bytes("block_size", &o->block_size,
               {.effect = "Data in a table's block, the unit of reading and caching. Larger blocks "
                          "make smaller indexes and larger reads.",
                .min = 256,
                .max = 16 * kMiB,
                .shapes_data = true});
  table->Integer("block_restart_interval", &o->block_restart_interval,
                 {.effect = "Keys between two that are stored whole: larger saves space, smaller "
                            "finds a key sooner.",
                  .min = 1,
                  .max = 1024,
                  .shapes_data = true});
  table->Real("bloom_bits", &o->bloom_bits,
              {.effect = "Bloom filter bits per key; 10 let about 1 % of needless table reads "
                         "through; 0: no filter.",
               .max = 64,
               .shapes_data = true});
  table->Choice("compression", &o->compression, CompressionChoices(),
                {.effect = "Compression of table blocks.", .shapes_data = true});
}

void DescribeIo(Options* o, OptionTable* table) {
  table->Integer(
      "max_background_jobs", &o->max_background_jobs,
      {.effect = "Flushes and compactions at a time.", .min = 1, .max = 256, .default_word = "0"});
  table->Integer(
      "max_subcompactions", &o->max_subcompactions,
      {.effect = "Threads that share one compaction from level 0.", .min = 1, .max = 256});
  table->Bytes("compaction_readahead_size", &o->compaction_readahead_size,
               {.effect = "How far compactions read ahead; 0 leaves it to the kernel, and direct "
                          "reads then use 2 MiB.",
                .max = 1 * kGiB});
  table->Bytes("bytes_per_sync", &o->bytes_per_sync,
               {.effect = "Start writing tables back after so many bytes; 0: when the kernel does.",
                .max = 1 * kGiB});
  table->Bytes("wal_bytes_per_sync", &o->wal_bytes_per_sync,
               {.effect = "The same for the log.", .max = 1 * kGiB});
  table->Bool("use_direct_reads", &o->use_direct_reads,
              {.effect = "Read tables past the page cache: only the block cache keeps them."});
  table->Bool(
      "use_direct_io_for_flush_compaction", &o->use_direct_io_for_flush_compaction,
      {.effect = "Background work goes past the page cache, which it then does not evict."});
  table->Bool(
      "allow_mmap_reads", &o->allow_mmap_reads,
      {.effect = "Map tables. RocksDB gives maps no random-access advice, so that reads then "
                 "measure the device's readahead."});
  table->Bool("allow_mmap_writes", &o->allow_mmap_writes, {.effect = "Write tables through maps."});
  table->Bool("advise_random_on_open", &o->advise_random_on_open,
              {.effect = "Open tables with random-access advice: no readahead."});
}

void DescribeAdvice(Options* o, OptionTable* table) {
  table->Bool("increase_parallelism", &o->increase_parallelism,
              {.effect = "RocksDB's advice for larger machines: 16 background threads, whatever "
                         "max_background_jobs implies. Does not scale."});
  table->Bool(
      "optimize_level_style_compaction", &o->optimize_level_style_compaction,
      {.effect = "RocksDB's advice for larger machines, whatever other options say: 512 MiB "
                 "for memtables of 128 MiB, tables of 64 MiB, two files at level 0, and "
                 "compression from level 2 on. Does not scale.",
       .shapes_data = true});
}

}  // namespace

void Options::Describe(OptionTable* table) {
  DescribeMemory(this, table);
  DescribeTree(this, table);
  DescribeTables(this, table);
  DescribeIo(this, table);
  DescribeAdvice(this, table);
  table->Text("optionsfile", &optionsfile,
              {.effect = "A RocksDB option file that replaces all options but those of the cache, "
                         "which such a file cannot express, statistics and telemetry.",
               .shapes_data = true});
  table->Bool(
      "statistics", &statistics,
      {.effect =
           "Count how reads were answered (cache hits, Bloom filters, levels) for the record. "
           "Costs 8 % more instructions a cached get and 2 % a put. Stalls, levels and bytes "
           "flushed and compacted are in the record also without."});
  table->Bool("telemetry", &telemetry,
              {.effect = "Watch stalls, flushes and compactions, and sample levels and counters. "
                         "false: none of it, statistics neither, to measure what watching costs."});
}

}  // namespace kvdyno::rocks
