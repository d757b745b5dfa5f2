// What changed in RocksDB's interface between the versions that these adapters compile against (7.8
// to 11.8): the one place that asks for ROCKSDB_MAJOR. Owns nothing. Safe from any thread.
#pragma once

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/table.h>
#include <rocksdb/version.h>

#if ROCKSDB_MAJOR >= 8
#include <rocksdb/advanced_cache.h>
#endif

#include <cstdint>
#include <memory>
#include <string>

#include "kvdyno/base/status.h"

namespace kvdyno::rocks {

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

}  // namespace kvdyno::rocks
