// The scheduler's steps: load seen, peaks announced, slots lent and taken back.
#include "scheduler.h"

#include <gtest/gtest.h>

#include <string>

#include "work.h"

namespace kvdyno::silk {

namespace {

// Takes whatever is written.
class Sink final : public Session {
 public:
  Status Get(std::string_view, std::string*) override { return Status::NotFound(); }
  Status Put(std::string_view, std::string_view) override { return Status::Ok(); }
  Status Delete(std::string_view) override { return Status::Ok(); }
  Status Scan(const ScanRange&, RowVisitor*) override { return Status::Ok(); }
};

class SilkScheduler : public ::testing::Test {
 protected:
  // Any load at all is a peak.
  static constexpr tuners::SilkSettings kShare = {.bandwidth_bytes_per_s = 1 << 20,
                                                  .floor_bytes_per_s = 1 << 16,
                                                  .step_bytes_per_s = 1 << 16,
                                                  .peak_share = 1e-9};

  double Sampled(const std::string& name) {
    std::vector<Counter> counters;
    scheduler_.Sample(&counters);
    for (const Counter& counter : counters) {
      if (counter.name == name) return counter.value;
    }
    ADD_FAILURE() << "no counter " << name;
    return 0;
  }

  // Goes on writing until the condition holds.
  template <typename Condition>
  void WriteUntil(Condition condition) {
    const std::string value(1 << 16, 'v');
    while (!condition()) {
      ASSERT_TRUE(session_->Put("key", value).ok());
      std::this_thread::yield();
    }
  }

  LoadMeter meter_;
  std::unique_ptr<Session> session_ = meter_.Measure(std::make_unique<Sink>());
  Limiter limiter_{kShare, 3600};
  std::unique_ptr<rocksdb::ConcurrentTaskLimiter> slots_{
      rocksdb::NewConcurrentTaskLimiter("test", 1)};
  EventLog events_;
  Scheduler scheduler_{
      {.share = kShare, .window_seconds = 0.001}, &meter_, &limiter_, slots_.get(), &events_};
};

TEST_F(SilkScheduler, LoadLeavesTheFloorAndItsEndLeavesAll) {
  // The rate is set before the peak is counted.
  WriteUntil(
      [&] { return limiter_.GetBytesPerSecond() == 1 << 16 && Sampled("tuner_peaks") >= 1; });
  EXPECT_GT(Sampled("client_bytes"), 0);
  while (limiter_.GetBytesPerSecond() < 1 << 20) std::this_thread::yield();
  EXPECT_EQ(Sampled("tuner_rate_limit"), 1 << 20);
}

TEST_F(SilkScheduler, HeldWorkLendsItsSlot) {
  EXPECT_EQ(Sampled("tuner_compaction_slots"), 1);
  WriteUntil([&] { return limiter_.GetBytesPerSecond() == 1 << 16; });
  std::atomic<bool> lent = false;
  std::thread deep([&] {
    rocksdb::CompactionJobInfo info;
    info.base_input_level = 2;
    WorkListener().OnCompactionBegin(nullptr, info);
    while (!lent) limiter_.Request(4096, rocksdb::Env::IO_LOW, nullptr);
  });
  WriteUntil([&] { return Sampled("tuner_compaction_slots") == 2; });
  lent = true;
  limiter_.Release();
  deep.join();
  while (Sampled("tuner_compaction_slots") != 1) std::this_thread::yield();
}

}  // namespace

}  // namespace kvdyno::silk
