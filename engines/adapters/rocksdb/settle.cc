#include "settle.h"

#include <string>

namespace kvdyno::rocks {

namespace {

uint64_t Property(rocksdb::DB* db, const std::string& name) {
  uint64_t value = 0;
  db->GetIntProperty(name, &value);
  return value;
}

}  // namespace

Status WaitForBackgroundWork(rocksdb::DB* db, const std::function<void()>& pause) {
  using Names = rocksdb::DB::Properties;
  const bool compacts = !db->GetOptions().disable_auto_compactions;
  QuietWatch watch;
  for (;; pause()) {
    if (Property(db, Names::kBackgroundErrors) > 0) {
      return Status::IoError("settle rocksdb: background work failed; see the store's LOG file");
    }
    // Pending is asked for first: work that is taken up in between then shows as running.
    const uint64_t pending = Property(db, Names::kMemTableFlushPending) +
                             (compacts ? Property(db, Names::kCompactionPending) : 0);
    const uint64_t running =
        Property(db, Names::kNumRunningFlushes) + Property(db, Names::kNumRunningCompactions);
    switch (watch.Look(pending, running)) {
      case QuietWatch::Verdict::kKeepLooking:
        break;
      case QuietWatch::Verdict::kQuiet:
        return Status::Ok();
      case QuietWatch::Verdict::kStuck:
        return Status::Busy(
            "settle rocksdb: expected pending compactions to start, none did for long; see the "
            "store's LOG file");
    }
  }
}

}  // namespace kvdyno::rocks
