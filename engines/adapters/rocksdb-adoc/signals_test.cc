// Hand-made callbacks, and the windows that they make.
#include "signals.h"

#include <gtest/gtest.h>

namespace kvdyno::adoc {

namespace {

constexpr uint64_t kSlowdown = 20;

class AdocSignals : public ::testing::Test {
 protected:
  void Seal(uint64_t first_seqno, Signals* signals) {
    rocksdb::MemTableInfo info;
    info.first_seqno = first_seqno;
    signals->OnMemTableSealed(info);
  }
  void Seal(uint64_t first_seqno) { Seal(first_seqno, &signals_); }

  void Flush(int job, uint64_t largest_seqno, uint64_t bytes = 1 << 20, bool slowdown = false) {
    rocksdb::FlushJobInfo info{};
    info.job_id = job;
    signals_.OnFlushBegin(nullptr, info);
    info.largest_seqno = largest_seqno;
    info.table_properties.data_size = bytes;
    info.triggered_writes_slowdown = slowdown;
    signals_.OnFlushCompleted(nullptr, info);
  }

  tuners::AdocWindow Window(double seconds = 1) {
    tuners::AdocWindow window;
    signals_.EndWindow(seconds, &window);
    return window;
  }

  Signals signals_{1, kSlowdown};
};

TEST_F(AdocSignals, NothingHappened) {
  const tuners::AdocWindow window = Window();
  EXPECT_EQ(window.early_fills, 0u);
  EXPECT_EQ(window.flush_bytes_per_s, 0);
  EXPECT_EQ(window.ingest_bytes_per_s, 0);
  EXPECT_EQ(window.level0_files, 0u);
}

TEST_F(AdocSignals, AMemtableIsEarlyWhileAnOlderOneWaits) {
  Seal(1);
  Flush(1, 99);
  Seal(100);
  EXPECT_EQ(Window().early_fills, 0u);
  Seal(200);
  EXPECT_EQ(Window().early_fills, 1u) << "the one sealed before is not flushed";
  EXPECT_EQ(Window().early_fills, 0u) << "each is counted once";
  Flush(2, 199);
  Seal(300);
  EXPECT_EQ(Window().early_fills, 1u);
}

TEST_F(AdocSignals, AFlushMayTakeSeveralMemtables) {
  Seal(1);
  Seal(100);
  Seal(200);
  Flush(1, 299);
  EXPECT_EQ(Window().early_fills, 2u);
  Seal(300);
  EXPECT_EQ(Window().early_fills, 0u);
}

TEST_F(AdocSignals, MemtablesThatWaitToBeMergedAreNotLate) {
  Signals signals(2, kSlowdown);
  Seal(1, &signals);
  Seal(100, &signals);
  tuners::AdocWindow window;
  signals.EndWindow(1, &window);
  EXPECT_EQ(window.early_fills, 0u);
  Seal(200, &signals);
  signals.EndWindow(1, &window);
  EXPECT_EQ(window.early_fills, 1u);
}

TEST_F(AdocSignals, FlushesHaveASpeedAndAVolume) {
  Flush(1, 1, 3 << 20);
  Flush(2, 2, 1 << 20);
  const tuners::AdocWindow window = Window(2);
  EXPECT_GT(window.flush_bytes_per_s, 0);
  EXPECT_DOUBLE_EQ(window.ingest_bytes_per_s, 2 << 20);
  EXPECT_EQ(Window().flush_bytes_per_s, 0);
}

TEST_F(AdocSignals, AFlushIntoAFullLevelIsRemembered) {
  Flush(1, 1, 1, true);
  tuners::AdocWindow window{.level0_files = 7};  // compaction was faster than the window
  signals_.EndWindow(1, &window);
  EXPECT_EQ(window.level0_files, kSlowdown);
  EXPECT_EQ(Window().level0_files, 0u);
}

}  // namespace

}  // namespace kvdyno::adoc
