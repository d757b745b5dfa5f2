// One client's handle on a RocksDB store, and RocksDB's statuses as ours.
// Borrows the store; knows neither options nor counters. A session belongs to one thread.
#pragma once

#include <rocksdb/db.h>

#include <memory>

#include "kvdyno/api/adapter.h"
#include "kvdyno/base/status.h"

namespace kvdyno::rocks {

// Ok and NotFound are made without a message: they are the common answers of timed calls.
Status Translate(const char* operation, const rocksdb::Status& status);

// Busy where another holder of the store's lock is the reason.
Status TranslateOpen(const rocksdb::Status& status);

// `write`: how each write is made.
std::unique_ptr<Session> MakeSession(rocksdb::DB* db, const rocksdb::WriteOptions& write);

}  // namespace kvdyno::rocks
