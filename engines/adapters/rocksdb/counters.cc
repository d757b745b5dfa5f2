#include "counters.h"

#include <cstdlib>
#include <string>

namespace kvdyno::rocks {

namespace {

struct Event {
  rocksdb::Tickers ticker;
  const char* name;
  const char* unit;
};
constexpr Event kEvents[] = {
    {rocksdb::STALL_MICROS, "stall_micros", "us"},
    {rocksdb::FLUSH_WRITE_BYTES, "flush_write_bytes", "byte"},
    {rocksdb::COMPACT_READ_BYTES, "compact_read_bytes", "byte"},
    {rocksdb::COMPACT_WRITE_BYTES, "compact_write_bytes", "byte"},
    {rocksdb::WAL_FILE_BYTES, "wal_bytes", "byte"},
    {rocksdb::BLOCK_CACHE_HIT, "block_cache_hit", "count"},
    {rocksdb::BLOCK_CACHE_MISS, "block_cache_miss", "count"},
    {rocksdb::BLOOM_FILTER_USEFUL, "bloom_filter_useful", "count"},
    {rocksdb::BLOOM_FILTER_FULL_POSITIVE, "bloom_filter_positive", "count"},
    {rocksdb::MEMTABLE_HIT, "memtable_hit", "count"},
    {rocksdb::GET_HIT_L0, "get_hit_level0", "count"},
    {rocksdb::GET_HIT_L1, "get_hit_level1", "count"},
    {rocksdb::GET_HIT_L2_AND_UP, "get_hit_level2_and_up", "count"},
};

struct Level {
  const std::string& property;
  const char* name;
  const char* unit;
};

void AddLevel(rocksdb::DB* db, const Level& level, std::vector<Counter>* counters) {
  uint64_t value = 0;
  if (!db->GetIntProperty(level.property, &value)) return;
  counters->push_back({level.name, static_cast<double>(value), level.unit, false});
}

}  // namespace

void SampleCounters(rocksdb::DB* db, const rocksdb::Statistics* statistics,
                    std::vector<Counter>* counters) {
  using Property = rocksdb::DB::Properties;
  const Level levels[] = {
      {Property::kNumImmutableMemTable, "immutable_memtables", "count"},
      {Property::kCurSizeAllMemTables, "memtable_bytes", "byte"},
      {Property::kEstimateTableReadersMem, "table_readers_bytes", "byte"},
      {Property::kBlockCacheUsage, "block_cache_bytes", "byte"},
      {Property::kEstimatePendingCompactionBytes, "pending_compaction_bytes", "byte"},
      {Property::kNumRunningFlushes, "running_flushes", "count"},
      {Property::kNumRunningCompactions, "running_compactions", "count"},
      {Property::kActualDelayedWriteRate, "delayed_write_rate", "byte/s"},
      {Property::kIsWriteStopped, "write_stopped", "count"},
      {Property::kLiveSstFilesSize, "table_bytes", "byte"},
  };
  for (const Level& level : levels) AddLevel(db, level, counters);

  // The files of a level are a text property only.
  std::string files;
  if (db->GetProperty(Property::kNumFilesAtLevelPrefix + "0", &files)) {
    counters->push_back({"level0_files", std::strtod(files.c_str(), nullptr), "count", false});
  }
  if (statistics == nullptr) return;
  for (const Event& event : kEvents) {
    const uint64_t count = statistics->getTickerCount(event.ticker);
    counters->push_back({event.name, static_cast<double>(count), event.unit, true});
  }
}

}  // namespace kvdyno::rocks
