#include "session.h"

#include <string>
#include <string_view>
#include <vector>

#include "drift.h"

namespace kvdyno::rocks {

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

class RocksSession final : public Session {
 public:
  RocksSession(rocksdb::DB* db, const rocksdb::WriteOptions& write) : db_(*db), write_(write) {}

  Status Get(std::string_view key, std::string* value) override {
    return Translate("get", db_.Get(read_, ToSlice(key), value));
  }

  void MultiGet(const std::vector<std::string_view>& keys, std::vector<std::string>* values,
                std::vector<Status>* statuses) override {
    const size_t count = keys.size();
    values->resize(count);
    statuses->resize(count);
    batch_.Fit(count);
    for (size_t i = 0; i < count; ++i) batch_.keys[i] = ToSlice(keys[i]);
    BatchedGet(&db_, read_, count, batch_.keys.data(), batch_.values.data(),
               batch_.statuses.data());
    for (size_t i = 0; i < count; ++i) {
      (*statuses)[i] = Translate("multi-get", batch_.statuses[i]);
      if (batch_.statuses[i].ok()) (*values)[i].assign(batch_.values[i].ToStringView());
      batch_.values[i].Reset();
    }
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

  Status ReverseScan(const ScanRange& range, RowVisitor* visitor) override {
    const std::unique_ptr<rocksdb::Iterator> row(db_.NewIterator(read_));
    range.start.empty() ? row->SeekToLast() : row->SeekForPrev(ToSlice(range.start));
    for (uint64_t rows = 0; row->Valid(); row->Prev()) {
      if (!range.end.empty() && row->key().ToStringView() <= range.end) break;
      if (!visitor->Row(row->key().ToStringView(), row->value().ToStringView())) break;
      if (++rows == range.limit) break;
    }
    return Translate("reverse scan", row->status());
  }

 private:
  // What RocksDB's batched gets take and fill, kept from call to call.
  struct Batch {
    std::vector<rocksdb::Slice> keys;
    std::vector<rocksdb::PinnableSlice> values;
    std::vector<rocksdb::Status> statuses;

    void Fit(size_t count) {
      if (keys.size() >= count) return;
      keys.resize(count);
      values = std::vector<rocksdb::PinnableSlice>(count);
      statuses.resize(count);
    }
  };

  rocksdb::DB& db_;
  const rocksdb::ReadOptions read_;
  const rocksdb::WriteOptions write_;
  Batch batch_;
};

}  // namespace

Status Translate(const char* operation, const rocksdb::Status& status) {
  if (status.ok()) return Status::Ok();
  if (status.IsNotFound()) return Status::NotFound();
  return {CodeOf(status), std::string(operation) + " rocksdb: " + status.ToString()};
}

// A held lock is an IOError that only its text distinguishes: EAGAIN for another process, and
// ENOLCK for this one.
Status TranslateOpen(const rocksdb::Status& status) {
  const std::string text = status.ToString();
  const bool held = text.find("Resource temporarily unavailable") != std::string::npos ||
                    text.find("No locks available") != std::string::npos;
  if (status.IsIOError() && held) return Status::Busy("open rocksdb: " + text);
  return Translate("open", status);
}

std::unique_ptr<Session> MakeSession(rocksdb::DB* db, const rocksdb::WriteOptions& write) {
  return std::make_unique<RocksSession>(db, write);
}

}  // namespace kvdyno::rocks
