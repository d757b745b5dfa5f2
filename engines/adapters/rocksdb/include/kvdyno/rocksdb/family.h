// RocksFamily: what every engine on a stock RocksDB has in common: options, sessions, counters,
// events, waiting for background work. A member of the family gives its name, and changes what it
// is about in three places: before the store opens, after it did, and before it closes.
//
// Threads: as kvdyno::Adapter requires. The three hooks run on the thread that opens and closes.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/statistics.h>

#include <memory>
#include <string>
#include <vector>

#include "kvdyno/api/adapter.h"
#include "kvdyno/rocksdb/options.h"

namespace kvdyno::rocks {

class Watcher;

class RocksFamily : public Adapter {
 public:
  RocksFamily();
  ~RocksFamily() override;

  std::string engine_version() const override;
  std::optional<LibraryFacts> library() const override;
  std::vector<std::string> caveats() const override;
  std::optional<Durability> durability(bool sync) const override;
  std::vector<std::string> write_once_files() const override { return {"*.sst"}; }

  // A member describes options of its own in here, in its constructor.
  OptionTable& options() override { return table_; }
  bool can_scan_reverse() const override { return true; }
  bool can_skip_log() const override { return true; }

  Status Open(const OpenContext& context) final;
  std::unique_ptr<Session> NewSession() override;
  // RocksDB schedules its compactions itself: what it does not find due stays, whatever the bound.
  Status Settle(std::optional<uint64_t> debt_max) override;
  // Memtables that hold entries, in bytes, and what RocksDB estimates that compactions would have
  // to rewrite to bring each level to its target. The estimate includes level 0 once that is due,
  // by its number of files or its size.
  std::optional<uint64_t> Debt() override;
  // A member that overrides it appends its own counters after these.
  void Sample(std::vector<Counter>* counters) override;
  void TakeEvents(std::vector<Event>* events) final { events_.Take(events); }
  Status Close() final;

 protected:
  // `options` are those that the store is about to be opened with; listeners are appended to what
  // is there. What is not ok refuses to open.
  virtual Status Prepare(const OpenContext& /*context*/, rocksdb::Options* /*options*/) {
    return Status::Ok();
  }

  // The store is open; db() stays valid until Closing has returned. Threads may be started.
  virtual void Opened() {}

  // Whatever Opened started ends here. Not called when opening failed.
  virtual void Closing() {}

  rocksdb::DB* db() const { return db_.get(); }
  // The options in force, once Open has begun.
  const Options& rocks_options() const { return options_; }
  // Safe from any thread.
  EventLog& events() { return events_; }

 private:
  Options options_;
  OptionTable table_;
  EventLog events_;
  std::shared_ptr<rocksdb::Statistics> statistics_;
  std::shared_ptr<Watcher> watcher_;
  std::unique_ptr<rocksdb::DB> db_;
  rocksdb::WriteOptions write_;
};

}  // namespace kvdyno::rocks
