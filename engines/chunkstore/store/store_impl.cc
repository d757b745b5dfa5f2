#include "store/store_impl.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/iterator.h"
#include "hooks/moments.h"
#include "hooks/seeded_bugs.h"
#include "hooks/slowdown.h"
#include "stage/record.h"
#include "store/backup.h"

namespace chunkstore {

std::string_view LibraryVersion() {
  return kSlowdownGet > 0 || kSlowdownPut ? "0.1.0-slowed" : "0.1.0";
}

void WriteBatch::Put(std::string_view key, std::string_view value) {
  AppendOperation(&operations_, EntryType::kValue, key, value);
  largest_key_ = std::max(largest_key_, key.size());
  largest_value_ = std::max(largest_value_, value.size());
  ++count_;
}

void WriteBatch::Delete(std::string_view key) {
  AppendOperation(&operations_, EntryType::kDeletion, key, {});
  largest_key_ = std::max(largest_key_, key.size());
  ++count_;
}

void WriteBatch::Clear() { *this = {}; }

Status StoreImpl::CheckWritable(const char* operation, size_t key_bytes, size_t value_bytes) const {
  if (state_.gate.closed()) return state_.ClosedError(operation);
  const auto refuse = [&](const std::string& text) {
    return Status::InvalidArgument(std::string(operation) + " " + state_.directory + ": " + text);
  };
  if (state_.options.read_only) {
    return {Code::kReadOnly, std::string(operation) + " " + state_.directory +
                                 ": the store was opened for reading only"};
  }
  if (key_bytes > kMaxKeyBytes) {
    return refuse("key: expected at most 65536 bytes, got " + std::to_string(key_bytes));
  }
  if (value_bytes > kMaxValueBytes) {
    return refuse("value: expected at most 268435456 bytes, got " + std::to_string(value_bytes));
  }
  return Status::Ok();
}

// A ring in memory keeps no promise: there the chunks must.
Status StoreImpl::Append(const WriteOptions& options, std::string_view payload, uint32_t count) {
  const bool in_memory = state_.options.durability == Durability::kNone;
  const Durability wanted = options.durability.value_or(state_.options.durability);
  const bool sync = wanted == Durability::kSync && !in_memory;
  const Status status = writer_.Write(payload, count, sync);
  if (!status.ok() || !in_memory || wanted == Durability::kNone) return status;
  const CallGate::Call call(&state_.gate);
  if (!call.open()) return state_.ClosedError("write");
  return maintenance_->FlushStages();
}

// Small operations are encoded on the stack.
Status StoreImpl::WriteOne(const WriteOptions& options, EntryType type, std::string_view key,
                           std::string_view value) {
  const size_t bytes = OperationBytes(key, value);
  std::array<char, 2048> small;
  if (bytes <= small.size()) {
    const char* end = StoreOperation(small.data(), type, key, value);
    return Append(options, {small.data(), static_cast<size_t>(end - small.data())}, 1);
  }
  std::string large;
  AppendOperation(&large, type, key, value);
  return Append(options, large, 1);
}

Status StoreImpl::Put(const WriteOptions& options, std::string_view key, std::string_view value) {
  if (Status status = CheckWritable("put", key.size(), value.size()); !status.ok()) return status;
  SlowPut(value);
  return WriteOne(options, EntryType::kValue, key, value);
}

Status StoreImpl::Delete(const WriteOptions& options, std::string_view key) {
  if (Status status = CheckWritable("delete", key.size(), 0); !status.ok()) return status;
  return WriteOne(options, EntryType::kDeletion, key, {});
}

Status StoreImpl::Write(const WriteOptions& options, const chunkstore::WriteBatch& batch) {
  Status status = CheckWritable("write", batch.largest_key_, batch.largest_value_);
  if (!status.ok() || batch.count_ == 0) return status;
  if (Seeded(Bug::kBatchNotAtomic)) {
    OperationReader operations(batch.operations_, 1);
    for (Entry entry; status.ok() && operations.Next(&entry);) {
      status = WriteOne(options, entry.type, entry.key, entry.value);
    }
    return status;
  }
  return Append(options, batch.operations_, static_cast<uint32_t>(batch.count_));
}

Status StoreImpl::Get(const ReadOptions& options, std::string_view key, std::string* value) {
  SlowGet();
  if (options.snapshot == nullptr) return reader_.Get(key, options.fill_cache, value);
  const CallGate::Call call(&state_.gate);
  if (!call.open()) return state_.ClosedError("get");
  return reader_.GetAt(key, options.snapshot->version(), options.fill_cache, value);
}

void StoreImpl::MultiGet(const ReadOptions& options, const std::vector<std::string_view>& keys,
                         std::vector<std::string>* values, std::vector<Status>* statuses) {
  const CallGate::Call call(&state_.gate);
  values->resize(keys.size());
  statuses->assign(keys.size(), call.open() ? Status::Ok() : state_.ClosedError("multi-get"));
  if (!call.open()) return;
  const SnapshotHold moment = Hold(&state_.snapshots, options.snapshot);
  state_.slots.WaitForPending(moment.version());
  reader_.MultiGetAt(keys, moment.version(), options.fill_cache, values, statuses);
}

Status StoreImpl::Scan(const ScanOptions& options, const RowFunction& row) {
  const CallGate::Call call(&state_.gate);
  if (!call.open()) return state_.ClosedError("scan");
  state_.counters.Add(Count::kScans);
  if (!options.end.empty() && options.start >= options.end) return Status::Ok();
  if (options.reverse) return ScanBackwards(options, row);
  const SnapshotHold moment = Hold(&state_.snapshots, options.snapshot);
  state_.slots.WaitForPending(moment.version());
  uint64_t rows = 0;
  const Reader::Range range{options.start, options.end, options.limit, options.fill_cache};
  Status status =
      reader_.Rows(range, moment.version(), [&](std::string_view key, std::string_view value) {
        ++rows;
        return row(key, value) && rows != options.limit;
      });
  state_.counters.Add(Count::kScanRows, rows);
  return status;
}

Status StoreImpl::ScanBackwards(const ScanOptions& options, const RowFunction& row) {
  StoreIterator iterator(&state_, &reader_, {options.snapshot, options.fill_cache});
  iterator.SetBounds(options.start, options.end);
  uint64_t rows = 0;
  for (iterator.SeekToLast(); iterator.Valid(); iterator.Prev()) {
    ++rows;
    if (!row(iterator.key(), iterator.value()) || rows == options.limit) break;
  }
  state_.counters.Add(Count::kScanRows, rows);
  return iterator.status();
}

std::unique_ptr<Iterator> StoreImpl::NewIterator(const ReadOptions& options) {
  return std::make_unique<StoreIterator>(&state_, &reader_, options);
}

namespace {

class HeldSnapshot final : public Snapshot {
 public:
  explicit HeldSnapshot(State* state) : hold_(&state->snapshots) {
    state->slots.WaitForPending(hold_.version());
  }
  uint64_t version() const override { return hold_.version(); }

 private:
  SnapshotHold hold_;
};

}  // namespace

std::unique_ptr<Snapshot> StoreImpl::GetSnapshot() {
  return std::make_unique<HeldSnapshot>(&state_);
}

// Without files for the ring, only chunks survive a power loss.
Status StoreImpl::Checkpoint() {
  const CallGate::Call call(&state_.gate);
  if (Status status = CheckWritable("checkpoint", 0, 0); !status.ok()) return status;
  return state_.options.durability == Durability::kNone ? maintenance_->FlushStages()
                                                        : writer_.Checkpoint();
}

Status StoreImpl::Flush() {
  const CallGate::Call call(&state_.gate);
  if (Status status = CheckWritable("flush", 0, 0); !status.ok()) return status;
  return maintenance_->FlushAll();
}

Status StoreImpl::PayDebt(uint64_t log_bytes_max) {
  const CallGate::Call call(&state_.gate);
  if (Status status = CheckWritable("pay debt", 0, 0); !status.ok()) return status;
  return maintenance_->PayDebt(log_bytes_max);
}

Status StoreImpl::Compact() {
  const CallGate::Call call(&state_.gate);
  if (Status status = CheckWritable("compact", 0, 0); !status.ok()) return status;
  return maintenance_->CompactAll();
}

Status StoreImpl::Backup(const std::string& directory) {
  const CallGate::Call call(&state_.gate);
  if (Status status = CheckWritable("back up", 0, 0); !status.ok()) return status;
  if (Status status = maintenance_->FlushStages(); !status.ok()) return status;
  const auto check = [this] {
    return state_.gate.closed() ? state_.ClosedError("back up") : Status::Ok();
  };
  BackupSource source{state_.segments.get(), {}, check};
  std::vector<std::shared_ptr<const void>> held;
  {
    const kvdyno::MutexLock one(state_.maintenance_mutex);
    source.state = state_.manifest->state();
    for (const Chunk* chunk : state_.map().chunks()) {
      held.push_back(chunk->funk().table);
      held.push_back(chunk->funk().log->HoldRuns());
    }
  }
  Status status = WriteBackup(std::move(source), state_.files, directory);
  state_.Log(status.ok() ? LogLevel::kInfo : LogLevel::kWarning,
             "back up to " + directory + ": " + (status.ok() ? "done" : status.ToString()));
  return status;
}

}  // namespace chunkstore
