#include "levels.h"

#include <cstdlib>

namespace kvdyno::rocks {

namespace {

using Names = rocksdb::DB::Properties;

// The files of a level are a text property only.
uint64_t Level0Files(rocksdb::DB* db) {
  std::string files;
  db->GetProperty(Names::kNumFilesAtLevelPrefix + "0", &files);
  return std::strtoull(files.c_str(), nullptr, 10);
}

}  // namespace

uint64_t NumberOf(rocksdb::DB* db, const std::string& property) {
  uint64_t value = 0;
  db->GetIntProperty(property, &value);
  return value;
}

// An empty memtable takes memory too.
uint64_t DebtOf(rocksdb::DB* db) {
  const uint64_t entries =
      NumberOf(db, Names::kNumEntriesActiveMemTable) + NumberOf(db, Names::kNumEntriesImmMemTables);
  const uint64_t memtables = entries == 0 ? 0 : NumberOf(db, Names::kCurSizeAllMemTables);
  return memtables + NumberOf(db, Names::kEstimatePendingCompactionBytes);
}

Levels LevelsOf(rocksdb::DB* db) {
  return {.immutable_memtables = NumberOf(db, Names::kNumImmutableMemTable),
          .level0_files = Level0Files(db),
          .pending_bytes = NumberOf(db, Names::kEstimatePendingCompactionBytes)};
}

Stall StallOf(rocksdb::DB* db) {
  if (NumberOf(db, Names::kIsWriteStopped) > 0) return Stall::kStop;
  return NumberOf(db, Names::kActualDelayedWriteRate) > 0 ? Stall::kDelay : Stall::kNone;
}

}  // namespace kvdyno::rocks
