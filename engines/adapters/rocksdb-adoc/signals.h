// What RocksDB's callbacks report about a window: memtables that filled too early, flushes, files
// at level 0. Owns the counts between two windows; asks the store nothing, because callbacks may
// run under its locks. Safe from any thread.
#pragma once

#include <rocksdb/listener.h>

#include <cstdint>
#include <deque>
#include <mutex>
#include <unordered_map>

#include "kvdyno/tuners/adoc.h"

namespace kvdyno::adoc {

class Signals final : public rocksdb::EventListener {
 public:
  // A flush waits for `memtables_to_merge` full memtables: so many are not late.
  Signals(uint64_t memtables_to_merge, uint64_t level0_slowdown_files)
      : memtables_to_merge_(memtables_to_merge), level0_slowdown_files_(level0_slowdown_files) {}

  void OnMemTableSealed(const rocksdb::MemTableInfo& info) override;
  void OnFlushBegin(rocksdb::DB* db, const rocksdb::FlushJobInfo& info) override;
  void OnFlushCompleted(rocksdb::DB* db, const rocksdb::FlushJobInfo& info) override;

  // Ends a window of this length: writes what callbacks reported into it and begins the next one.
  // level0_files becomes no smaller.
  void EndWindow(double seconds, tuners::AdocWindow* window);

 private:
  struct Counts {
    uint64_t early_fills = 0;
    uint64_t flushes = 0;
    double flush_speeds = 0;  // bytes per second, summed
    double flushed_bytes = 0;
    bool level0_slowdown = false;
  };

  const uint64_t memtables_to_merge_;
  const uint64_t level0_slowdown_files_;
  std::mutex mutex_;  // guards all below
  // First sequence numbers of full memtables that are not flushed, oldest first.
  std::deque<rocksdb::SequenceNumber> waiting_;
  std::unordered_map<int, uint64_t> flush_begins_ns_;  // by job
  Counts counts_;
};

}  // namespace kvdyno::adoc
