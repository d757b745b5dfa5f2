// LevelDB: options in options.h, the environment in env.h, here the store and its sessions.
#include "kvdyno/api/adapter.h"

#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>
#include <leveldb/write_batch.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>

#include "due_bytes.h"
#include "env.h"
#include "kvdyno/api/log_length.h"
#include "options.h"

// A build of LevelDB that has hardware checksums has them from the crc32c library.
extern "C" uint32_t crc32c_extend(uint32_t, const uint8_t*, size_t) __attribute__((weak));

namespace kvdyno {

namespace {

leveldb::Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
std::string_view ToView(const leveldb::Slice& slice) { return {slice.data(), slice.size()}; }

Code CodeOf(const leveldb::Status& status) {
  if (status.IsCorruption()) return Code::kCorruption;
  if (status.IsIOError()) return Code::kIoError;
  if (status.IsNotSupportedError()) return Code::kUnsupported;
  if (status.IsInvalidArgument()) return Code::kInvalidArgument;
  return Code::kInternal;
}

// Ok and NotFound are made without a message: they are the common answers of timed calls.
Status Translate(const char* operation, const leveldb::Status& status) {
  if (status.ok()) return Status::Ok();
  if (status.IsNotFound()) return Status::NotFound();
  return {CodeOf(status), std::string(operation) + " leveldb: " + status.ToString()};
}

// Opening: a held lock is an IOError that only its text distinguishes, and a file that is named but
// missing is a NotFound, which to our callers would mean a key.
Status TranslateOpen(const leveldb::Status& status) {
  const std::string text = status.ToString();
  const bool held = text.find("already held by process") != std::string::npos ||
                    text.find("Resource temporarily unavailable") != std::string::npos;
  if (status.IsIOError() && held) return Status::Busy("open leveldb: " + text);
  if (status.IsNotFound()) return Status::Corruption("open leveldb: " + text);
  return Translate("open", status);
}

class LevelSession final : public Session {
 public:
  LevelSession(leveldb::DB* db, bool sync, bool verify_checksums) : db_(*db) {
    write_.sync = sync;
    read_.verify_checksums = verify_checksums;
  }

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
    const std::unique_ptr<leveldb::Iterator> row(db_.NewIterator(read_));
    uint64_t rows = 0;
    for (row->Seek(ToSlice(range.start)); row->Valid(); row->Next()) {
      if (!range.end.empty() && ToView(row->key()) >= range.end) break;
      if (!visitor->Row(ToView(row->key()), ToView(row->value()))) break;
      if (++rows == range.limit) break;
    }
    return Translate("scan", row->status());
  }

  Status ReverseScan(const ScanRange& range, RowVisitor* visitor) override {
    const std::unique_ptr<leveldb::Iterator> row(db_.NewIterator(read_));
    uint64_t rows = 0;
    for (SeekToLastUntil(range.start, row.get()); row->Valid(); row->Prev()) {
      if (!range.end.empty() && ToView(row->key()) <= range.end) break;
      if (!visitor->Row(ToView(row->key()), ToView(row->value()))) break;
      if (++rows == range.limit) break;
    }
    return Translate("reverse scan", row->status());
  }

 private:
  // To the last row that is not above the key; empty: to the last of all. LevelDB seeks upwards.
  static void SeekToLastUntil(std::string_view key, leveldb::Iterator* row) {
    if (!key.empty()) {
      row->Seek(ToSlice(key));
      if (row->Valid() && ToView(row->key()) == key) return;
      if (row->Valid()) return row->Prev();
      if (!row->status().ok()) return;
    }
    row->SeekToLast();
  }

  leveldb::DB& db_;
  leveldb::ReadOptions read_;
  leveldb::WriteOptions write_;
};

class LevelAdapter final : public Adapter {
 public:
  LevelAdapter() { options_.Describe(&table_); }

  std::string engine_name() const override { return "leveldb"; }
  std::string engine_version() const override {
    return std::to_string(leveldb::kMajorVersion) + "." + std::to_string(leveldb::kMinorVersion);
  }
  std::string summary() const override {
    return "Log-structured merge tree of Google, as packaged, its tables opened with random-access "
           "advice (https://github.com/google/leveldb).";
  }
  std::optional<LibraryFacts> library() const override {
    LibraryFacts facts =
        ProbeLibrary(reinterpret_cast<const void*>(&leveldb::NewLRUCache), kAssertions);
    facts.origin = KVDYNO_LIBRARY_ORIGIN;
    facts.flags = KVDYNO_LIBRARY_FLAGS;
    facts.checksum =
        crc32c_extend == nullptr ? "software" : ProbeChecksum([](std::string_view bytes) {
          return crc32c_extend(0, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
        });
    return facts;
  }
  std::vector<std::string> caveats() const override {
    std::vector<std::string> caveats = {
        "scans do not read ahead: tables carry random-access advice, LevelDB does not prefetch"};
    if (crc32c_extend == nullptr) {
      caveats.emplace_back("this build of LevelDB computes crc32c, its checksum, in software");
    }
    if (!options_.verify_checksums) {
      caveats.emplace_back("reads do not verify checksums, which is LevelDB's default");
    }
    return caveats;
  }
  // A recovery goes on behind a damaged part of the log: what it finds need not be a prefix.
  std::optional<Durability> durability(bool sync) const override {
    if (!sync) {
      return Durability{.survives_process = true,
                        .note = "a put writes to the log with write(), which is synced by nothing"};
    }
    return Durability{.survives_process = true,
                      .survives_power = true,
                      .power_loss_seconds = 0,
                      .consistent_prefix = true,
                      .note = "a put syncs the log before it returns"};
  }
  std::vector<std::string> write_once_files() const override { return {"*.ldb"}; }
  OptionTable& options() override { return table_; }
  bool can_scan_reverse() const override { return true; }

  Status Open(const OpenContext& context) override {
    env_ = std::make_unique<level::Env>(options_.mapped_files);
    cache_.reset(leveldb::NewLRUCache(options_.cache_size));
    if (options_.filter_bits > 0) {
      filter_.reset(leveldb::NewBloomFilterPolicy(static_cast<int>(options_.filter_bits)));
    }
    leveldb::DB* db = nullptr;
    const leveldb::Status opened = leveldb::DB::Open(LibraryOptions(), context.directory, &db);
    db_.reset(db);
    sync_ = context.sync;
    directory_ = context.directory;
    settled_log_bytes_ = env_->log_bytes();
    return TranslateOpen(opened);
  }

  std::unique_ptr<Session> NewSession() override {
    return std::make_unique<LevelSession>(db_.get(), sync_, options_.verify_checksums);
  }

  // Compacting a range without keys writes the memtable out and compacts nothing else. LevelDB
  // reports a failure of background work at the next write, hence the empty one.
  Status Settle(std::optional<uint64_t>) override {
    const leveldb::Slice no_key;
    db_->CompactRange(&no_key, &no_key);
    env_->WaitForBackgroundWork();
    leveldb::WriteBatch empty;
    const leveldb::Status written = db_->Write(leveldb::WriteOptions(), &empty);
    settled_log_bytes_ = env_->log_bytes();
    return Translate("settle", written);
  }

  // The memtables, unless nothing was written since they were flushed (an empty one takes memory
  // too), and what compactions are due for. LevelDB adds its block cache to its own figure.
  std::optional<uint64_t> Debt() override {
    std::string tables;
    db_->GetProperty("leveldb.sstables", &tables);
    const uint64_t due = level::DueBytes(tables);
    if (env_->log_bytes() == settled_log_bytes_) return due;
    const auto memory = static_cast<uint64_t>(Property("leveldb.approximate-memory-usage"));
    const uint64_t cache = cache_->TotalCharge();
    return due + (memory > cache ? memory - cache : 0);
  }

  void Sample(std::vector<Counter>* counters) override {
    for (int level = 0; level < kLevels; level++) {
      const std::string number = std::to_string(level);
      counters->push_back({"level" + number + "_files",
                           Property("leveldb.num-files-at-level" + number), "count", false});
    }
    counters->push_back(
        {"memory_bytes", Property("leveldb.approximate-memory-usage"), "byte", false});
    counters->push_back({"log_write_bytes", static_cast<double>(env_->log_bytes()), "byte", true});
    counters->push_back(
        {"table_write_bytes", static_cast<double>(env_->table_bytes()), "byte", true});
    counters->push_back(LogLength(directory_));
  }

  // A store that is closed keeps what its log holds; there is nothing that could fail.
  Status Close() override {
    db_.reset();
    return Status::Ok();
  }

 private:
  static constexpr int kLevels = 7;  // a constant of LevelDB

  leveldb::Options LibraryOptions() const {
    leveldb::Options options;
    options.create_if_missing = true;
    options.env = env_.get();
    options.block_cache = cache_.get();
    options.filter_policy = filter_.get();
    options.write_buffer_size = options_.write_buffer_size;
    options.max_file_size = options_.max_file_size;
    options.max_open_files = static_cast<int>(options_.max_open_files);
    options.block_size = options_.block_size;
    options.block_restart_interval = static_cast<int>(options_.block_restart_interval);
    options.compression =
        options_.compression == "snappy" ? leveldb::kSnappyCompression : leveldb::kNoCompression;
    return options;
  }

  // All properties that are asked for are numbers in text.
  double Property(const std::string& name) const {
    std::string text;
    db_->GetProperty(name, &text);
    return std::strtod(text.c_str(), nullptr);
  }

  level::Options options_;
  OptionTable table_;
  bool sync_ = false;
  std::string directory_;
  std::atomic<uint64_t> settled_log_bytes_ = 0;  // of the log, when all of it was in tables

  // The store uses what is declared before it.
  std::unique_ptr<level::Env> env_;
  std::unique_ptr<leveldb::Cache> cache_;
  std::unique_ptr<const leveldb::FilterPolicy> filter_;
  std::unique_ptr<leveldb::DB> db_;
};

}  // namespace

std::unique_ptr<Adapter> MakeAdapter() { return std::make_unique<LevelAdapter>(); }

}  // namespace kvdyno
