#include "counters.h"

#include <cstdlib>
#include <map>
#include <span>
#include <string>

#include "levels.h"
#include "pressure.h"

namespace kvdyno::rocks {

namespace {

struct Ticker {
  rocksdb::Tickers ticker;
  const char* name;
  const char* unit;
};
constexpr Ticker kTickers[] = {
    {rocksdb::BLOCK_CACHE_HIT, "block_cache_hit", "count"},
    {rocksdb::BLOCK_CACHE_MISS, "block_cache_miss", "count"},
    {rocksdb::BLOOM_FILTER_USEFUL, "bloom_filter_useful", "count"},
    {rocksdb::BLOOM_FILTER_FULL_POSITIVE, "bloom_filter_positive", "count"},
    {rocksdb::MEMTABLE_HIT, "memtable_hit", "count"},
    {rocksdb::GET_HIT_L0, "get_hit_level0", "count"},
    {rocksdb::GET_HIT_L1, "get_hit_level1", "count"},
    {rocksdb::GET_HIT_L2_AND_UP, "get_hit_level2_and_up", "count"},
};

// From the maps that RocksDB keeps without statistics; numbers in text.
struct Entry {
  const char* key;
  const char* name;
  const char* unit;
};
constexpr Entry kStoreEntries[] = {
    {"db.user_write_stall_micros", "stall_micros", "us"},
    {"db.user_bytes_written", "user_write_bytes", "byte"},
    {"db.wal_bytes_written", "wal_bytes", "byte"},
};

// How often RocksDB, at a change of its levels, found each reason to stall: findings, not episodes.
constexpr Entry kStallEntries[] = {
    {"io_stalls.memtable_slowdown", "found_memtable_delay", "count"},
    {"io_stalls.memtable_compaction", "found_memtable_stop", "count"},
    {"io_stalls.level0_slowdown", "found_level0_delay", "count"},
    {"io_stalls.level0_numfiles", "found_level0_stop", "count"},
    {"io_stalls.slowdown_for_pending_compaction_bytes", "found_pending_delay", "count"},
    {"io_stalls.stop_for_pending_compaction_bytes", "found_pending_stop", "count"},
    // The same in 11.8.1.
    {"memtable-limit-delays", "found_memtable_delay", "count"},
    {"memtable-limit-stops", "found_memtable_stop", "count"},
    {"l0-file-count-limit-delays", "found_level0_delay", "count"},
    {"l0-file-count-limit-stops", "found_level0_stop", "count"},
    {"pending-compaction-bytes-delays", "found_pending_delay", "count"},
    {"pending-compaction-bytes-stops", "found_pending_stop", "count"},
};

void AddEntries(rocksdb::DB* db, const std::string& property, std::span<const Entry> entries,
                std::vector<Counter>* counters) {
  std::map<std::string, std::string> texts;
  if (!db->GetMapProperty(property, &texts)) return;
  for (const Entry& entry : entries) {
    const auto text = texts.find(entry.key);
    if (text == texts.end()) continue;
    counters->push_back({entry.name, std::strtod(text->second.c_str(), nullptr), entry.unit, true});
  }
}

struct Gauge {
  const std::string& property;
  const char* name;
  const char* unit;
};

void AddGauges(rocksdb::DB* db, std::vector<Counter>* counters) {
  using Names = rocksdb::DB::Properties;
  const Gauge gauges[] = {
      {Names::kCurSizeAllMemTables, "memtable_bytes", "byte"},
      {Names::kEstimateTableReadersMem, "table_readers_bytes", "byte"},
      {Names::kBlockCacheUsage, "block_cache_bytes", "byte"},
      {Names::kNumRunningFlushes, "running_flushes", "count"},
      {Names::kNumRunningCompactions, "running_compactions", "count"},
      {Names::kActualDelayedWriteRate, "delayed_write_rate", "byte/s"},
      {Names::kIsWriteStopped, "write_stopped", "count"},
      {Names::kLiveSstFilesSize, "table_bytes", "byte"},
  };
  for (const Gauge& gauge : gauges) {
    const auto value = static_cast<double>(NumberOf(db, gauge.property));
    counters->push_back({gauge.name, value, gauge.unit, false});
  }
}

void AddPressure(rocksdb::DB* db, std::vector<Counter>* counters) {
  const Levels levels = LevelsOf(db);
  const Slots slots = SlotsOf(StallOf(db), levels, Limits::Of(db->GetOptions()));
  const auto add = [&](const char* name, uint64_t value, const char* unit) {
    counters->push_back({name, static_cast<double>(value), unit, false});
  };
  add("immutable_memtables", levels.immutable_memtables, "count");
  add("level0_files", levels.level0_files, "count");
  add("pending_compaction_bytes", levels.pending_bytes, "byte");
  add("flush_slots", slots.flushes, "count");
  add("compaction_slots", slots.compactions, "count");
}

}  // namespace

void SampleCounters(rocksdb::DB* db, const rocksdb::Statistics* statistics,
                    std::vector<Counter>* counters) {
  AddGauges(db, counters);
  AddPressure(db, counters);
  AddEntries(db, rocksdb::DB::Properties::kDBStats, kStoreEntries, counters);
  AddEntries(db, rocksdb::DB::Properties::kCFStats, kStallEntries, counters);
  if (statistics == nullptr) return;
  for (const Ticker& ticker : kTickers) {
    const uint64_t count = statistics->getTickerCount(ticker.ticker);
    counters->push_back({ticker.name, static_cast<double>(count), ticker.unit, true});
  }
}

}  // namespace kvdyno::rocks
