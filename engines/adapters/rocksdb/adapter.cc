// RocksDB: options in options.h, counters in counters.h, waiting for background work in settle.h,
// here the store and its sessions.
#include "kvdyno/api/adapter.h"

#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/statistics.h>
#include <rocksdb/version.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "counters.h"
#include "options.h"
#include "settle.h"

// Inside the library, but in no public header, and so perhaps absent: a weak reference is null
// then.
namespace rocksdb::crc32c {
std::string IsFastCrc32Supported() __attribute__((weak));
}  // namespace rocksdb::crc32c

namespace kvdyno {

namespace {

rocksdb::Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

Code CodeOf(const rocksdb::Status& status) {
  switch (status.code()) {
    case rocksdb::Status::kOk:
      return Code::kOk;
    case rocksdb::Status::kNotFound:
      return Code::kNotFound;
    case rocksdb::Status::kInvalidArgument:
      return Code::kInvalidArgument;
    case rocksdb::Status::kNotSupported:
      return Code::kUnsupported;
    case rocksdb::Status::kIOError:
      return Code::kIoError;
    case rocksdb::Status::kCorruption:
      return Code::kCorruption;
    case rocksdb::Status::kBusy:
    case rocksdb::Status::kTryAgain:
      return Code::kBusy;
    default:
      return Code::kInternal;
  }
}

// Ok and NotFound are made without a message: they are the common answers of timed calls.
Status Translate(const char* operation, const rocksdb::Status& status) {
  if (status.ok()) return Status::Ok();
  if (status.IsNotFound()) return Status::NotFound();
  return {CodeOf(status), std::string(operation) + " rocksdb: " + status.ToString()};
}

// A held lock is an IOError that only its text tells apart: EAGAIN for another process, and
// ENOLCK for this one.
Status TranslateOpen(const rocksdb::Status& status) {
  const std::string text = status.ToString();
  const bool held = text.find("Resource temporarily unavailable") != std::string::npos ||
                    text.find("No locks available") != std::string::npos;
  if (status.IsIOError() && held) return Status::Busy("open rocksdb: " + text);
  return Translate("open", status);
}

class RocksSession final : public Session {
 public:
  RocksSession(rocksdb::DB* db, bool sync) : db_(*db) { write_.sync = sync; }

  Status Get(std::string_view key, std::string* value) override {
    return Translate("get", db_.Get(read_, ToSlice(key), value));
  }

  Status Put(std::string_view key, std::string_view value) override {
    return Translate("put", db_.Put(write_, ToSlice(key), ToSlice(value)));
  }

  Status Delete(std::string_view key) override {
    return Translate("delete", db_.Delete(write_, ToSlice(key)));
  }

  Status Scan(const ScanRange& range, RowVisitor* visitor) override {
    if (!range.end.empty() && range.end <= range.start) return Status::Ok();
    rocksdb::ReadOptions read = read_;
    const rocksdb::Slice end = ToSlice(range.end);
    if (!range.end.empty()) read.iterate_upper_bound = &end;
    const std::unique_ptr<rocksdb::Iterator> row(db_.NewIterator(read));
    uint64_t rows = 0;
    for (row->Seek(ToSlice(range.start)); row->Valid(); row->Next()) {
      if (!visitor->Row(row->key().ToStringView(), row->value().ToStringView())) break;
      if (++rows == range.limit) break;
    }
    return Translate("scan", row->status());
  }

 private:
  rocksdb::DB& db_;
  rocksdb::ReadOptions read_;
  rocksdb::WriteOptions write_;
};

class RocksAdapter final : public Adapter {
 public:
  RocksAdapter() { options_.Describe(&table_); }

  std::string engine_name() const override { return "rocksdb"; }
  std::string engine_version() const override { return rocksdb::GetRocksVersionAsString(); }
  std::string summary() const override {
    return "Log-structured merge tree of Meta Platforms, as packaged (https://rocksdb.org).";
  }

  std::vector<std::string> caveats() const override {
    if (rocksdb::crc32c::IsFastCrc32Supported == nullptr) return {};
    const std::string support = rocksdb::crc32c::IsFastCrc32Supported();
    if (support.starts_with("Supported")) return {};
    return {"this build of RocksDB computes crc32c, the checksum of its log, in software"};
  }

  std::vector<std::string> write_once_files() const override { return {"*.sst"}; }
  OptionTable& options() override { return table_; }

  Status Open(const OpenContext& context) override {
    rocksdb::Options options;
    if (Status status = options_.Translate(&options); !status.ok()) return status;
    options.create_if_missing = true;
    if (options_.statistics) {
      statistics_ = rocksdb::CreateDBStatistics();
      statistics_->set_stats_level(rocksdb::StatsLevel::kExceptHistogramOrTimers);
      options.statistics = statistics_;
    }
    rocksdb::DB* db = nullptr;
    const rocksdb::Status opened = rocksdb::DB::Open(options, context.directory, &db);
    db_.reset(db);
    sync_ = context.sync;
    return TranslateOpen(opened);
  }

  std::unique_ptr<Session> NewSession() override {
    return std::make_unique<RocksSession>(db_.get(), sync_);
  }

  Status Settle() override {
    if (Status flushed = Translate("flush", db_->Flush(rocksdb::FlushOptions())); !flushed.ok()) {
      return flushed;
    }
    return rocks::WaitForBackgroundWork(
        db_.get(), [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
  }

  void Sample(std::vector<Counter>* counters) override {
    rocks::SampleCounters(db_.get(), statistics_.get(), counters);
  }

  Status Close() override {
    if (!db_) return Status::Ok();
    const rocksdb::Status closed = db_->Close();
    db_.reset();
    return Translate("close", closed);
  }

 private:
  rocks::Options options_;
  OptionTable table_;
  std::shared_ptr<rocksdb::Statistics> statistics_;
  std::unique_ptr<rocksdb::DB> db_;
  bool sync_ = false;
};

}  // namespace

std::unique_ptr<Adapter> MakeAdapter() { return std::make_unique<RocksAdapter>(); }

}  // namespace kvdyno
