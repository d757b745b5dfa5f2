#include "kvdyno/rocksdb/family.h"

#include <chrono>
#include <thread>

#include "counters.h"
#include "drift.h"
#include "durability.h"
#include "info_log.h"
#include "kvdyno/api/log_length.h"
#include "levels.h"
#include "session.h"
#include "settle.h"
#include "watcher.h"

// Inside the library, but in no public header, and so perhaps absent: a weak reference is null
// then.
namespace rocksdb::crc32c {
uint32_t Extend(uint32_t crc, const char* bytes, size_t size) __attribute__((weak));
}  // namespace rocksdb::crc32c

namespace kvdyno::rocks {

RocksFamily::RocksFamily() { options_.Describe(&table_); }
RocksFamily::~RocksFamily() = default;

std::string RocksFamily::engine_version() const { return LibraryVersion(); }

std::optional<LibraryFacts> RocksFamily::library() const {
  LibraryFacts facts =
      ProbeLibrary(reinterpret_cast<const void*>(&rocksdb::CreateDBStatistics), kAssertions);
  facts.origin = KVDYNO_LIBRARY_ORIGIN;
  facts.flags = KVDYNO_LIBRARY_FLAGS;
  if (rocksdb::crc32c::Extend != nullptr) {
    facts.checksum = ProbeChecksum([](std::string_view bytes) {
      return rocksdb::crc32c::Extend(0, bytes.data(), bytes.size());
    });
  }
  return facts;
}

std::vector<std::string> RocksFamily::caveats() const {
  if (library()->checksum != "software") return {};
  return {"this build of RocksDB computes crc32c, the checksum of its log, in software"};
}

Status RocksFamily::Open(const OpenContext& context) {
  rocksdb::Options options;
  if (Status status = options_.Translate(&options); !status.ok()) return status;
  options.create_if_missing = true;
  if (options_.statistics) {
    statistics_ = rocksdb::CreateDBStatistics();
    CountOnly(statistics_.get());
    options.statistics = statistics_;
  }
  watcher_ = std::make_shared<Watcher>(&events_);
  if (options_.telemetry) options.listeners.push_back(watcher_);
  if (Status status = Prepare(context, &options); !status.ok()) return status;
  if (Status status = OpenInfoLog(context.directory, options, &options.info_log); !status.ok()) {
    return status;
  }
  const rocksdb::Status opened = OpenStore(options, context.directory, &db_);
  write_.sync = context.sync;
  write_.disableWAL = !context.log;
  if (!opened.ok()) return TranslateOpen(opened);
  watcher_->Attach(db_.get());
  Opened();
  return Status::Ok();
}

std::unique_ptr<Session> RocksFamily::NewSession() { return MakeSession(db_.get(), write_); }

std::optional<Durability> RocksFamily::durability(bool sync) const {
  return DurabilityOf(options_, sync);
}

std::optional<uint64_t> RocksFamily::Debt() { return DebtOf(db_.get()); }

Status RocksFamily::Settle(std::optional<uint64_t> /*debt_max*/) {
  if (Status flushed = Translate("flush", db_->Flush(rocksdb::FlushOptions())); !flushed.ok()) {
    return flushed;
  }
  return WaitForBackgroundWork(db_.get(),
                               [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
}

void RocksFamily::Sample(std::vector<Counter>* counters) {
  if (!options_.telemetry) return;
  SampleCounters(db_.get(), statistics_.get(), counters);
  counters->push_back(LogLength(db_->GetName()));
  watcher_->Sample(counters);
}

Status RocksFamily::Close() {
  if (!db_) return Status::Ok();
  Closing();
  watcher_->Detach();
  const rocksdb::Status closed = db_->Close();
  db_.reset();
  watcher_->Finish();
  return Translate("close", closed);
}

}  // namespace kvdyno::rocks
