// The bridge: an Adapter whose engine is a binding written for YCSB-cpp.
// A session is one ycsbc::DB; the value is its only field. Knows YCSB-cpp's interface and no
// binding. A binding keeps its store in static members, open as long as one DB is initialised,
// so the adapter holds one itself and a process has at most one store.
#include <atomic>
#include <climits>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/db_factory.h"
#include "kvdyno/api/adapter.h"

namespace kvdyno {

namespace {

constexpr const char* kBinding = KVDYNO_YCSB_BINDING;
constexpr const char* kTable = "usertable";
constexpr const char* kField = "field0";

// The bindings' own static store, as far as can be seen.
std::atomic<bool> process_has_store = false;

std::string Where(const char* operation) { return std::string(operation) + " ycsb-" + kBinding; }

Status Translate(const char* operation, int status) {
  switch (status) {
    case ycsbc::DB::kOK:
      return Status::Ok();
    case ycsbc::DB::kNotFound:
      return Status::NotFound();
    case ycsbc::DB::kNotImplemented:
      return Status::Unsupported(Where(operation) + ": the binding does not implement it");
    default:
      return Status::IoError(Where(operation) + ": the binding returned status " +
                             std::to_string(status));
  }
}

// Bindings report failures by exceptions, all of one type: their kind is not known.
template <typename Call>
Status Guarded(const char* operation, Call call) {
  try {
    return Translate(operation, static_cast<int>(call()));
  } catch (const std::exception& e) {
    return Status::IoError(Where(operation) + ": " + e.what());
  }
}

// One initialised ycsbc::DB.
class Binding {
 public:
  // The properties must outlive the binding.
  static Status Open(ycsbc::utils::Properties* properties, std::unique_ptr<Binding>* result) {
    std::unique_ptr<ycsbc::DB> db(ycsbc::DBFactory::CreateDB(properties, nullptr));
    if (!db) {
      return Status::Internal(Where("open") + ": expected a binding registered under this name");
    }
    const Status initialised = Guarded("open", [&] {
      db->Init();
      return ycsbc::DB::kOK;
    });
    if (initialised.ok()) result->reset(new Binding(std::move(db)));
    return initialised;
  }

  ~Binding() { static_cast<void>(Close()); }

  Status Close() {
    if (!db_) return Status::Ok();
    const Status cleaned = Guarded("close", [&] {
      db_->Cleanup();
      return ycsbc::DB::kOK;
    });
    db_.reset();
    return cleaned;
  }

  ycsbc::DB& db() { return *db_; }

 private:
  explicit Binding(std::unique_ptr<ycsbc::DB> db) : db_(std::move(db)) {}

  std::unique_ptr<ycsbc::DB> db_;
};

class YcsbSession final : public Session {
 public:
  explicit YcsbSession(ycsbc::utils::Properties* properties) : properties_(properties) {}

  Status Get(std::string_view key, std::string* value) override {
    if (Status ready = Ready(key); !ready.ok()) return ready;
    read_.clear();
    Status got = Guarded("get", [&] { return binding_->db().Read(kTable, key_, nullptr, read_); });
    if (!got.ok()) return got;
    if (read_.size() != 1) return WrongFields("get", read_.size());
    auto& [name, text] = read_.front();
    value->swap(text);
    return got;
  }

  // YCSB-cpp's update needs a record that exists.
  Status Put(std::string_view key, std::string_view value) override {
    if (Status ready = Ready(key, value); !ready.ok()) return ready;
    const Status updated =
        Guarded("put", [&] { return binding_->db().Update(kTable, key_, written_); });
    return updated.not_found() ? Insert(key, value) : updated;
  }

  Status Insert(std::string_view key, std::string_view value) override {
    if (Status ready = Ready(key, value); !ready.ok()) return ready;
    return Guarded("insert", [&] { return binding_->db().Insert(kTable, key_, written_); });
  }

  Status Delete(std::string_view key) override {
    if (Status ready = Ready(key); !ready.ok()) return ready;
    const Status deleted = Guarded("delete", [&] { return binding_->db().Delete(kTable, key_); });
    return deleted.not_found() ? Status::Ok() : deleted;
  }

  // YCSB-cpp returns all rows at once and without their keys, so an end cannot be kept to.
  Status Scan(const ScanRange& range, RowVisitor* visitor) override {
    if (!range.end.empty()) {
      return Status::Unsupported(Where("scan") + ": YCSB-cpp's scans have no end, only a limit");
    }
    if (Status ready = Ready(range.start); !ready.ok()) return ready;
    const bool limited = range.limit > 0 && range.limit < uint64_t{INT_MAX};
    const int count = limited ? static_cast<int>(range.limit) : INT_MAX;
    rows_.clear();
    Status scanned =
        Guarded("scan", [&] { return binding_->db().Scan(kTable, key_, count, nullptr, rows_); });
    if (!scanned.ok()) return scanned;
    for (const auto& row : rows_) {
      if (row.size() != 1) return WrongFields("scan", row.size());
      const auto& [name, text] = row.front();
      if (!visitor->Row({}, text)) break;
    }
    return scanned;
  }

 private:
  static Status WrongFields(const char* operation, size_t count) {
    return Status::Corruption(Where(operation) + ": expected a record of one field, got " +
                              std::to_string(count));
  }

  // Initialises the binding in the thread that uses it, as YCSB-cpp does, at the first operation.
  Status Ready(std::string_view key) {
    key_.assign(key);
    return binding_ ? Status::Ok() : Binding::Open(properties_, &binding_);
  }

  Status Ready(std::string_view key, std::string_view value) {
    auto& [name, text] = written_.front();
    text.assign(value);
    return Ready(key);
  }

  ycsbc::utils::Properties* const properties_;
  std::unique_ptr<Binding> binding_;
  std::string key_;
  std::vector<ycsbc::DB::Field> read_;
  std::vector<ycsbc::DB::Field> written_{{kField, {}}};
  std::vector<std::vector<ycsbc::DB::Field>> rows_;
};

class YcsbAdapter final : public Adapter {
 public:
  YcsbAdapter() { table_.AcceptOthers(&binding_options_); }
  ~YcsbAdapter() override { static_cast<void>(Close()); }

  std::string engine_name() const override { return std::string("ycsb-") + kBinding; }
  std::string engine_version() const override { return KVDYNO_YCSB_VERSION; }
  std::string summary() const override {
    return std::string("YCSB-cpp's binding '") + kBinding +
           "', compiled unchanged from a checkout (https://github.com/ls4154/YCSB-cpp).";
  }
  std::vector<std::string> caveats() const override {
    return {"a put is the binding's update, in most of them a read and a write",
            "every record is converted to and from YCSB-cpp's fields",
            "scans return no keys, which overstates their read amplification by the keys' share",
            "the binding decides how durable a write is and how its files are read",
            "work that the binding leaves for later is not waited for, and not counted"};
  }
  OptionTable& options() override { return table_; }

  Status Open(const OpenContext& context) override {
    if (context.sync) {
      return Status::Unsupported(Where("open") + ": YCSB-cpp's interface has no durable writes");
    }
    if (process_has_store.exchange(true)) {
      return Status::Busy(Where("open") + ": this process has the binding's store open already");
    }
    SetProperties(context.directory);
    const Status opened = Binding::Open(&properties_, &binding_);
    if (!opened.ok()) process_has_store = false;
    return opened;
  }

  std::unique_ptr<Session> NewSession() override {
    return std::make_unique<YcsbSession>(&properties_);
  }

  bool can_settle() const override { return false; }

  Status Settle(std::optional<uint64_t>) override {
    return Status::Unsupported(Where("settle") + ": YCSB-cpp's interface has no such operation");
  }

  void Sample(std::vector<Counter>*) override {}

  Status Close() override {
    if (!binding_) return Status::Ok();
    const Status closed = binding_->Close();
    binding_.reset();
    process_has_store = false;
    return closed;
  }

 private:
  // Options pass as they are written: sizes and durations in the binding's own spelling.
  void SetProperties(const std::string& directory) {
    const std::string prefix = std::string(kBinding) + ".";
    for (const auto& [name, text] : binding_options_) properties_.SetProperty(prefix + name, text);
    properties_.SetProperty(prefix + "dbname", directory);
    properties_.SetProperty("dbname", kBinding);
    properties_.SetProperty("table", kTable);
    properties_.SetProperty("fieldcount", "1");
    properties_.SetProperty("fieldnameprefix", "field");
  }

  std::map<std::string, std::string> binding_options_;
  OptionTable table_;
  ycsbc::utils::Properties properties_;
  std::unique_ptr<Binding> binding_;  // keeps the store open between sessions
};

}  // namespace

std::unique_ptr<Adapter> MakeAdapter() { return std::make_unique<YcsbAdapter>(); }

}  // namespace kvdyno
