// What RocksDB's properties say of this moment.
// Each call takes the store's mutex for a microsecond or so; safe beside any operation, and in
// listeners, which RocksDB calls without that mutex.
#pragma once

#include <rocksdb/db.h>

#include <cstdint>
#include <string>

#include "pressure.h"

namespace kvdyno::rocks {

// 0 when there is no such number.
uint64_t NumberOf(rocksdb::DB* db, const std::string& property);

// Bytes that flushes and due compactions would rewrite.
uint64_t DebtOf(rocksdb::DB* db);

Levels LevelsOf(rocksdb::DB* db);
Stall StallOf(rocksdb::DB* db);

}  // namespace kvdyno::rocks
