#include "settle.h"

#include "levels.h"

namespace kvdyno::rocks {

Status WaitForBackgroundWork(rocksdb::DB* db, const std::function<void()>& pause) {
  using Names = rocksdb::DB::Properties;
  const bool compacts = !db->GetOptions().disable_auto_compactions;
  QuietWatch watch;
  for (;; pause()) {
    if (NumberOf(db, Names::kBackgroundErrors) > 0) {
      return Status::IoError("settle rocksdb: background work failed; see the store's LOG file");
    }
    // Pending is asked for first: work that is taken up in between then shows as running.
    const uint64_t pending = NumberOf(db, Names::kMemTableFlushPending) +
                             (compacts ? NumberOf(db, Names::kCompactionPending) : 0);
    const uint64_t running =
        NumberOf(db, Names::kNumRunningFlushes) + NumberOf(db, Names::kNumRunningCompactions);
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
