// RocksDB's counters as the record names them.
// Owns the list; knows no session and no option. Safe to call beside any operation.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/statistics.h>

#include <vector>

#include "kvdyno/api/adapter.h"

namespace kvdyno::rocks {

// Appends what the store's properties say and, when `statistics` is not null, its tickers. Takes
// about a tenth of a millisecond.
void SampleCounters(rocksdb::DB* db, const rocksdb::Statistics* statistics,
                    std::vector<Counter>* counters);

}  // namespace kvdyno::rocks
