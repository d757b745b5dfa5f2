// Which kind of background work a thread of RocksDB does, so that a write can be attributed to it.
// RocksDB informs listeners of what begins on the thread that then does it. Safe from any thread.
#pragma once

#include <rocksdb/listener.h>

#include "kvdyno/tuners/silk.h"

namespace kvdyno::silk {

// The calling thread's; a flush, which never waits, for threads that are not RocksDB's.
tuners::SilkClass CurrentWork();

// A compaction from this level.
tuners::SilkClass CompactionFrom(int level);

class WorkListener final : public rocksdb::EventListener {
 public:
  void OnFlushBegin(rocksdb::DB* db, const rocksdb::FlushJobInfo& info) override;
  void OnCompactionBegin(rocksdb::DB* db, const rocksdb::CompactionJobInfo& info) override;
  void OnSubcompactionBegin(const rocksdb::SubcompactionJobInfo& info) override;
};

}  // namespace kvdyno::silk
