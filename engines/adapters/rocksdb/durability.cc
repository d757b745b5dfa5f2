// Which options of RocksDB decide what a write survives. Nothing is shared.
#include "durability.h"

namespace kvdyno::rocks {

namespace {

// After a power loss the log is read up to its first damaged record, or not at all. Other modes
// read on behind it.
bool ReadsPrefix(const rocksdb::Options& options) {
  return options.wal_recovery_mode == rocksdb::WALRecoveryMode::kPointInTimeRecovery ||
         options.wal_recovery_mode == rocksdb::WALRecoveryMode::kAbsoluteConsistency;
}

std::string UnsyncedNote(const rocksdb::Options& options) {
  std::string note = "a put writes to the log with write(), which is synced by nothing";
  if (options.wal_bytes_per_sync == 0) return note;
  return note + "; the kernel is asked to write it out every " +
         std::to_string(options.wal_bytes_per_sync) + " bytes, which is no bound in time";
}

}  // namespace

std::optional<Durability> DurabilityOf(Options options, bool sync) {
  rocksdb::Options translated;
  if (!options.Translate(&translated).ok()) return std::nullopt;
  const bool prefix = ReadsPrefix(translated);
  if (sync) {
    return Durability{.survives_process = true,
                      .survives_power = true,
                      .power_loss_seconds = 0,
                      .consistent_prefix = prefix,
                      .note = "a put syncs the log before it returns"};
  }
  if (translated.manual_wal_flush) {
    return Durability{.consistent_prefix = prefix,
                      .note = "the log stays in the process's buffer (manual_wal_flush)"};
  }
  return Durability{
      .survives_process = true, .consistent_prefix = prefix, .note = UnsyncedNote(translated)};
}

}  // namespace kvdyno::rocks
