// The memory engine: an ordered map behind one lock.
// The template for new adapters and the reference for tests; not a contender. Options are in
// options.h, the file that makes a store outlive its process in snapshot.h. A reader-writer lock
// would look better and let steady readers starve the writers.
#include "kvdyno/api/adapter.h"

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "options.h"
#include "snapshot.h"

namespace kvdyno {

namespace {

// What the adapter owns and its sessions share.
struct Store {
  std::mutex mutex;
  memory::Map map;             // guarded by mutex while sessions are in use
  uint64_t payload_bytes = 0;  // of all keys and values; guarded by mutex
};

class MemorySession final : public Session {
 public:
  explicit MemorySession(Store* store) : store_(*store) {}

  Status Get(std::string_view key, std::string* value) override {
    const std::lock_guard lock(store_.mutex);
    const auto found = store_.map.find(key);
    if (found == store_.map.end()) return Status::NotFound();
    value->assign(found->second);
    return Status::Ok();
  }

  Status Put(std::string_view key, std::string_view value) override {
    const std::lock_guard lock(store_.mutex);
    auto found = store_.map.lower_bound(key);
    if (found == store_.map.end() || found->first != key) {
      found = store_.map.emplace_hint(found, key, std::string());
      store_.payload_bytes += key.size();
    }
    store_.payload_bytes += value.size() - found->second.size();
    found->second.assign(value);
    return Status::Ok();
  }

  Status Delete(std::string_view key) override {
    const std::lock_guard lock(store_.mutex);
    const auto found = store_.map.find(key);
    if (found == store_.map.end()) return Status::Ok();
    store_.payload_bytes -= found->first.size() + found->second.size();
    store_.map.erase(found);
    return Status::Ok();
  }

  // The lock is held for the whole scan, which makes it a consistent view: the visitor must
  // not call this store.
  Status Scan(const ScanRange& range, RowVisitor* visitor) override {
    const std::lock_guard lock(store_.mutex);
    uint64_t rows = 0;
    for (auto row = store_.map.lower_bound(range.start); row != store_.map.end(); ++row) {
      if (!range.end.empty() && row->first >= range.end) break;
      if (!visitor->Row(row->first, row->second)) break;
      if (++rows == range.limit) break;
    }
    return Status::Ok();
  }

  Status ReverseScan(const ScanRange& range, RowVisitor* visitor) override {
    const std::lock_guard lock(store_.mutex);
    uint64_t rows = 0;
    auto above = range.start.empty() ? store_.map.end() : store_.map.upper_bound(range.start);
    while (above != store_.map.begin()) {
      const auto row = --above;
      if (!range.end.empty() && row->first <= range.end) break;
      if (!visitor->Row(row->first, row->second)) break;
      if (++rows == range.limit) break;
    }
    return Status::Ok();
  }

 private:
  Store& store_;
};

class MemoryAdapter final : public Adapter {
 public:
  MemoryAdapter() { options_.Describe(&table_); }

  std::string engine_name() const override { return "memory"; }
  std::string engine_version() const override { return "1"; }
  std::string summary() const override {
    return "Ordered map behind a lock; part of kvdyno, a template and a reference.";
  }
  std::vector<std::string> caveats() const override {
    return {"keeps everything in memory: a crash loses what came after the last settle"};
  }
  std::optional<Durability> durability(bool) const override {
    return Durability{.note = "a settle and a close write the store's file, nothing else does"};
  }
  std::vector<std::string> write_once_files() const override { return {"memory.snapshot"}; }
  OptionTable& options() override { return table_; }
  bool can_scan_reverse() const override { return true; }

  Status Open(const OpenContext& context) override {
    if (context.sync) {
      return Status::Unsupported("open memory: a map in memory cannot make each write durable");
    }
    // What is acquired belongs to this function until nothing can fail any more.
    memory::DirectoryLock lock;
    if (Status locked = lock.Acquire(context.directory); !locked.ok()) return locked;
    if (options_.persist) {
      Status read = memory::ReadSnapshot(context.directory, &store_.map);
      if (!read.ok()) return read;
    }
    lock_ = std::move(lock);
    directory_ = context.directory;
    for (const auto& [key, value] : store_.map) store_.payload_bytes += key.size() + value.size();
    open_ = true;
    return Status::Ok();
  }

  std::unique_ptr<Session> NewSession() override {
    return std::make_unique<MemorySession>(&store_);
  }

  // Written without the lock: no session is in use, Sample only reads, and it shall not wait for
  // the disk.
  Status Settle(std::optional<uint64_t>) override {
    return options_.persist ? memory::WriteSnapshot(directory_, store_.map) : Status::Ok();
  }

  // Nothing is ever reorganised.
  std::optional<uint64_t> Debt() override { return 0; }

  void Sample(std::vector<Counter>* counters) override {
    const std::lock_guard lock(store_.mutex);
    counters->push_back({"entries", static_cast<double>(store_.map.size()), "count", false});
    counters->push_back({"payload", static_cast<double>(store_.payload_bytes), "byte", false});
  }

  Status Close() override {
    if (!open_) return Status::Ok();
    open_ = false;
    const Status settled = Settle(std::nullopt);
    lock_ = {};
    return settled;
  }

 private:
  memory::Options options_;
  OptionTable table_;
  memory::DirectoryLock lock_;
  std::string directory_;
  bool open_ = false;
  Store store_;
};

}  // namespace

std::unique_ptr<Adapter> MakeAdapter() { return std::make_unique<MemoryAdapter>(); }

}  // namespace kvdyno
