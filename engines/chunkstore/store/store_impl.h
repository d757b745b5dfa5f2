// StoreImpl: the public interface, over state, reader, writer and maintenance.
// Owns their lives and order of birth and death; each call is a few lines.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "chunkstore/store.h"
#include "core/reader.h"
#include "core/state.h"
#include "core/writer.h"
#include "funk/warmth.h"
#include "maintenance/maintenance.h"

namespace chunkstore {

class StoreImpl final : public Store {
 public:
  StoreImpl(const Options& resolved, const std::string& directory);
  ~StoreImpl() override;
  Status Recover();

  Status Close(const CloseOptions& options) override;
  Status Put(const WriteOptions& options, std::string_view key, std::string_view value) override;
  Status Delete(const WriteOptions& options, std::string_view key) override;
  Status Write(const WriteOptions& options, const chunkstore::WriteBatch& batch) override;
  Status Get(const ReadOptions& options, std::string_view key, std::string* value) override;
  void MultiGet(const ReadOptions& options, const std::vector<std::string_view>& keys,
                std::vector<std::string>* values, std::vector<Status>* statuses) override;
  Status Scan(const ScanOptions& options, const RowFunction& row) override;
  std::unique_ptr<Iterator> NewIterator(const ReadOptions& options) override;
  std::unique_ptr<Snapshot> GetSnapshot() override;
  Status Checkpoint() override;
  Status Flush() override;
  Status PayDebt(uint64_t log_bytes_max) override;
  Status Compact() override;
  Status Backup(const std::string& directory) override;
  std::vector<Statistic> GetStatistics() const override;
  std::vector<ComponentLatency> GetLatencies() const override;
  bool GetProperty(std::string_view name, std::string* value) const override;
  Status VerifyChecksums(CheckReport* report) override;
  const RecoveryReport& recovery() const override { return recovery_; }
  const Options& options() const override { return state_.options; }

 private:
  // --- open.cc: what happens before the store is shared
  void WakeMaintenance();
  Status OpenManifest();
  void OpenWarmth();
  void LogRecovery() const;
  void BuildChunks();
  Status RecoverRing() KVDYNO_UNSHARED;
  Status BeginEpoch(const RingRecovery& ring) KVDYNO_UNSHARED;

  Status CheckWritable(const char* operation, size_t key_bytes, size_t value_bytes) const;
  Status WriteOne(const WriteOptions& options, EntryType type, std::string_view key,
                  std::string_view value);
  Status Append(const WriteOptions& options, std::string_view payload, uint32_t count);
  Status ScanBackwards(const ScanOptions& options, const RowFunction& row);
  uint64_t UnflushedBytes() const;  // of records in the ring
  std::string StatsTable() const;
  std::string ChunkLines() const;

  State state_;
  Reader reader_;
  Writer writer_;
  std::unique_ptr<Maintenance> maintenance_;
  RecoveryReport recovery_;
  std::shared_ptr<const Warmth> warmth_;  // null: none; its logs use it until they are warm
  std::unique_ptr<kvdyno::DirectoryLock> lock_;
};

}  // namespace chunkstore
