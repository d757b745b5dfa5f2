// RocksDB's counters as the record names them.
// Owns the list; knows no session and no option. Safe to call beside any operation.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/statistics.h>

#include <vector>

#include "kvdyno/api/adapter.h"

namespace kvdyno::rocks {

// Appends levels from the store's properties and, when `statistics` is not null, event counts.
void SampleCounters(rocksdb::DB* db, const rocksdb::Statistics* statistics,
                    std::vector<Counter>* counters);

}  // namespace kvdyno::rocks
