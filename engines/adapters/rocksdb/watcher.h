// Watcher: sees stalls, flushes and compactions of one store as they happen.
//
// RocksDB's own notice of a stall is no clock: RocksDB asks a writer that fills the last memtable
// to wait first, and sends the notice when it has waited, after the flush thread has sent the one
// of the end. Hence nothing is taken from its content. Stalls begin and end only where a memtable
// is sealed, a job ends or an option changes, and RocksDB calls a listener at each of these: there
// the watcher looks at the store itself.
//
// Threads: callbacks come from RocksDB's threads and from writers, without the store's mutex; a
// mutex keeps them apart from one another and from the methods, which belong to the thread that
// samples, Attach, Detach and Finish to that which opens and closes.
#pragma once

#include <rocksdb/db.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "drift.h"
#include "kvdyno/api/adapter.h"
#include "stalls.h"

namespace kvdyno::rocks {

class Watcher final : public Listener {
 public:
  explicit Watcher(EventLog* events) : events_(events), stalls_(events) {}

  // The store is open, and about to be closed: looks are taken in between.
  void Attach(rocksdb::DB* db);
  void Detach();
  // The store is closed: jobs and stalls that did not end are reported as such.
  void Finish();

  // Appends what was seen, after one more look.
  void Sample(std::vector<Counter>* counters);

  const char* Name() const override { return "kvdyno::rocks::Watcher"; }
  void OnMemTableSealed(const rocksdb::MemTableInfo&) override { Look(); }
  void OnStallConditionsChanged(const rocksdb::WriteStallInfo&) override { Look(); }
  void OnFlushBegin(rocksdb::DB*, const rocksdb::FlushJobInfo& job) override;
  void OnFlushCompleted(rocksdb::DB*, const rocksdb::FlushJobInfo& job) override;
  void OnCompactionBegin(rocksdb::DB*, const rocksdb::CompactionJobInfo& job) override;
  void OnCompactionCompleted(rocksdb::DB*, const rocksdb::CompactionJobInfo& job) override;
  void OnTableFileCreated(const rocksdb::TableFileCreationInfo& file) override;

 private:
  void Look();
  void LookLocked();
  void BeginJob(int id, Event event);
  void EndJob(int id, std::string detail);

  EventLog* const events_;

  std::mutex mutex_;           // guards all that follows
  rocksdb::DB* db_ = nullptr;  // null: not open
  StallLog stalls_;
  std::map<int, Event> jobs_;        // under way, by RocksDB's number
  uint64_t flushes_ = 0;             // that ended, as the compactions below
  uint64_t level0_compactions_ = 0;  // from level 0
  uint64_t deep_compactions_ = 0;    // from deeper levels
  uint64_t flushed_bytes_ = 0;
  uint64_t compacted_bytes_ = 0;
  uint64_t compaction_read_bytes_ = 0;
};

}  // namespace kvdyno::rocks
