#include "session.h"

#include <string>
#include <string_view>

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

std::unique_ptr<Session> MakeSession(rocksdb::DB* db, bool sync) {
  return std::make_unique<RocksSession>(db, sync);
}

}  // namespace kvdyno::rocks
