// When RocksDB's background work has ended, which 7.8 has no public call to wait for.
// Knows RocksDB's properties and no clock: the caller's `pause` separates two looks at them.
// One thread at a time, while no client writes.
#pragma once

#include <rocksdb/db.h>

#include <cstdint>
#include <functional>

#include "kvdyno/base/status.h"

namespace kvdyno::rocks {

// Judges a series of looks. Between two compactions nothing runs for an instant, hence more than
// one quiet look; pending work that is never begun ends the patience.
class QuietWatch {
 public:
  enum class Verdict { kKeepLooking, kQuiet, kStuck };

  static constexpr int kQuietLooks = 3;
  static constexpr int kStuckLooks = 30'000;  // half a minute, at a look a millisecond

  Verdict Look(uint64_t pending, uint64_t running) {
    if (running > 0) {
      quiet_ = stuck_ = 0;
    } else if (pending > 0) {
      quiet_ = 0;
      if (++stuck_ == kStuckLooks) return Verdict::kStuck;
    } else if (++quiet_ == kQuietLooks) {
      return Verdict::kQuiet;
    }
    return Verdict::kKeepLooking;
  }

 private:
  int quiet_ = 0;
  int stuck_ = 0;
};

// Returns when no flush and no compaction runs or is about to. With automatic compactions off (in
// an option file) compactions that would be due are none of its business. IoError when background
// work failed, Busy when due work is not taken up.
Status WaitForBackgroundWork(rocksdb::DB* db, const std::function<void()>& pause);

}  // namespace kvdyno::rocks
