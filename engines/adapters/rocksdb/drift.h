// What changed in RocksDB's interface between the versions that these adapters compile against
// (5.17 and 7.8 to 11.8): the one place that asks for ROCKSDB_MAJOR. Owns nothing. Safe from any
// thread.
#pragma once

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/options_util.h>
#include <rocksdb/version.h>

#if ROCKSDB_MAJOR >= 8
#include <rocksdb/advanced_cache.h>
#endif

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kvdyno/base/status.h"

namespace kvdyno::rocks {

// 5 has none that asks the library itself.
inline std::string LibraryVersion() {
#if ROCKSDB_MAJOR >= 7
  return rocksdb::GetRocksVersionAsString();
#else
  return std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR) + "." +
         std::to_string(ROCKSDB_PATCH);
#endif
}

// 11 fills a unique_ptr, older ones a bare pointer.
inline rocksdb::Status OpenStore(const rocksdb::Options& options, const std::string& directory,
                                 std::unique_ptr<rocksdb::DB>* db) {
#if ROCKSDB_MAJOR >= 11
  return rocksdb::DB::Open(options, directory, db);
#else
  rocksdb::DB* opened = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(options, directory, &opened);
  db->reset(opened);
  return status;
#endif
}

// 5 fills strings, later versions slices that point to what the store has in memory.
inline void BatchedGet(rocksdb::DB* db, const rocksdb::ReadOptions& options, size_t count,
                       const rocksdb::Slice* keys, rocksdb::PinnableSlice* values,
                       rocksdb::Status* statuses) {
#if ROCKSDB_MAJOR >= 7
  db->MultiGet(options, db->DefaultColumnFamily(), count, keys, values, statuses);
#else
  std::vector<std::string> found;
  const std::vector<rocksdb::Status> got = db->MultiGet(options, {keys, keys + count}, &found);
  for (size_t i = 0; i < count; ++i) {
    statuses[i] = got[i];
    *values[i].GetSelf() = std::move(found[i]);
    values[i].PinSelf();
  }
#endif
}

// Tickers alone: no histograms and no clock where the version can leave them out.
inline void CountOnly(rocksdb::Statistics* statistics) {
#if ROCKSDB_MAJOR >= 7
  statistics->set_stats_level(rocksdb::StatsLevel::kExceptHistogramOrTimers);
#else
  statistics->stats_level_ = rocksdb::StatsLevel::kExceptDetailedTimers;
#endif
}

// Null unless it makes block-based tables.
inline const rocksdb::BlockBasedTableOptions* TableOptionsOf(rocksdb::TableFactory* factory) {
#if ROCKSDB_MAJOR >= 7
  return factory->GetOptions<rocksdb::BlockBasedTableOptions>();
#else
  if (std::string(factory->Name()) != "BlockBasedTable") return nullptr;
  return static_cast<const rocksdb::BlockBasedTableOptions*>(factory->GetOptions());
#endif
}

inline rocksdb::Status LoadOptions(const std::string& file, rocksdb::DBOptions* options,
                                   std::vector<rocksdb::ColumnFamilyDescriptor>* families) {
#if ROCKSDB_MAJOR >= 7
  return rocksdb::LoadOptionsFromFile(rocksdb::ConfigOptions(), file, options, families);
#else
  return rocksdb::LoadOptionsFromFile(file, rocksdb::Env::Default(), options, families);
#endif
}

// One filter a table; 5 makes one a block unless asked for another, and takes whole bits.
inline const rocksdb::FilterPolicy* MakeBloomFilter(double bits_per_key) {
#if ROCKSDB_MAJOR >= 7
  return rocksdb::NewBloomFilterPolicy(bits_per_key);
#else
  return rocksdb::NewBloomFilterPolicy(static_cast<int>(std::lround(bits_per_key)), false);
#endif
}

// RocksDB names a Bloom filter policy "bloomfilter:10:false" and offers no other way to ask. Nothing:
// 5 does not name the bits.
inline std::optional<double> BloomBits(const rocksdb::FilterPolicy& policy) {
#if ROCKSDB_MAJOR >= 7
  double bits = 0;
  std::sscanf(policy.GetId().c_str(), "%*[^:]:%lf", &bits);
  return bits;
#else
  static_cast<void>(policy);
  return std::nullopt;
#endif
}

// A block cache of the kind that the library makes where it is given none: an LRU cache, and
// since 10.7 a hyper clock cache. Only an LRU cache has a share for blocks of high priority.
inline std::shared_ptr<rocksdb::Cache> MakeBlockCache(uint64_t size, double high_pri_pool_ratio) {
#if ROCKSDB_MAJOR > 10 || (ROCKSDB_MAJOR == 10 && ROCKSDB_MINOR >= 7)
  if (high_pri_pool_ratio == 0) return rocksdb::HyperClockCacheOptions(size).MakeSharedCache();
#endif
  rocksdb::LRUCacheOptions cache;
  cache.capacity = size;
  cache.high_pri_pool_ratio = high_pri_pool_ratio;
  return rocksdb::NewLRUCache(cache);
}

// A second cache, of blocks as they are on disk. 8 has none any more.
inline Status SetCompressedCache(uint64_t size, rocksdb::BlockBasedTableOptions* table) {
  if (size == 0) return Status::Ok();
#if ROCKSDB_MAJOR < 8
  table->block_cache_compressed = rocksdb::NewLRUCache(size);
  return Status::Ok();
#else
  static_cast<void>(table);
  return Status::Unsupported("option compressed_cache_size: RocksDB has had none since version 8");
#endif
}

// 5 reports a compaction when it is done alone.
#if ROCKSDB_MAJOR >= 7
using Listener = rocksdb::EventListener;
#else
class Listener : public rocksdb::EventListener {
 public:
  virtual const char* Name() const = 0;
  virtual void OnCompactionBegin(rocksdb::DB*, const rocksdb::CompactionJobInfo&) {}
};
#endif

// 5 has no reason of its own for a flush that makes room for the log.
inline bool IsForTheLog(rocksdb::FlushReason reason) {
#if ROCKSDB_MAJOR >= 7
  return reason == rocksdb::FlushReason::kWalFull;
#else
  static_cast<void>(reason);
  return false;
#endif
}

}  // namespace kvdyno::rocks
