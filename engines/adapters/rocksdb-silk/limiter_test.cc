// Who waits, and what ends it: room, the gate's longest duration, closing.
#include "limiter.h"

#include <gtest/gtest.h>

#include <thread>

#include "work.h"

namespace kvdyno::silk {

namespace {

using tuners::SilkClass;

constexpr double kNever = 3600;

// Makes the calling thread one that compacts from this level.
void BeginCompaction(int level) {
  rocksdb::CompactionJobInfo info;
  info.base_input_level = level;
  WorkListener().OnCompactionBegin(nullptr, info);
}

void Write(Limiter* limiter) { limiter->Request(4096, rocksdb::Env::IO_LOW, nullptr); }

TEST(SilkWork, CallbacksSayWhatAThreadDoes) {
  EXPECT_EQ(CurrentWork(), SilkClass::kFlush);
  std::thread([] {
    BeginCompaction(0);
    EXPECT_EQ(CurrentWork(), SilkClass::kLevel0);
    BeginCompaction(1);
    EXPECT_EQ(CurrentWork(), SilkClass::kLevel1);
    rocksdb::SubcompactionJobInfo part;
    part.base_input_level = 4;
    WorkListener().OnSubcompactionBegin(part);
    EXPECT_EQ(CurrentWork(), SilkClass::kDeep);
    WorkListener().OnFlushBegin(nullptr, {});
    EXPECT_EQ(CurrentWork(), SilkClass::kFlush);
  }).join();
  EXPECT_EQ(CurrentWork(), SilkClass::kFlush) << "of another thread";
}

// A deep compaction that waits at a peak until something lets it go.
class SilkHeldWork : public ::testing::Test {
 protected:
  void Hold(double gate_max_seconds) {
    limiter_ = std::make_unique<Limiter>(tuners::SilkSettings{}, gate_max_seconds);
    limiter_->SetShare(200e6, /*peak=*/true);
    writer_ = std::thread([this] {
      BeginCompaction(3);
      Write(limiter_.get());
    });
  }

  void AwaitWaiter() {
    while (limiter_->deep_waiters() == 0) std::this_thread::yield();
  }

  void ExpectWritten() {
    writer_.join();
    EXPECT_EQ(limiter_->deep_waiters(), 0);
    EXPECT_EQ(limiter_->bytes(SilkClass::kDeep), 4096u);
    EXPECT_GT(limiter_->waited_ns(SilkClass::kDeep), 0u);
  }

  std::unique_ptr<Limiter> limiter_;
  std::thread writer_;
};

TEST_F(SilkHeldWork, GoesOnAfterThePeak) {
  Hold(kNever);
  AwaitWaiter();
  limiter_->SetShare(200e6, /*peak=*/false);
  ExpectWritten();
}

TEST_F(SilkHeldWork, IsReleased) {
  Hold(kNever);
  AwaitWaiter();
  limiter_->Release();
  ExpectWritten();
  std::thread([this] {
    BeginCompaction(3);
    Write(limiter_.get());
  }).join();
}

TEST_F(SilkHeldWork, IsNotHeldForEver) {
  Hold(0.001);
  ExpectWritten();
}

TEST_F(SilkHeldWork, DoesNotHoldOthers) {
  Hold(kNever);
  AwaitWaiter();
  std::thread([this] {
    BeginCompaction(0);
    Write(limiter_.get());
    WorkListener().OnFlushBegin(nullptr, {});
    Write(limiter_.get());
  }).join();
  EXPECT_EQ(limiter_->bytes(SilkClass::kLevel0), 4096u);
  EXPECT_EQ(limiter_->bytes(SilkClass::kFlush), 4096u);
  EXPECT_EQ(limiter_->GetTotalBytesThrough(rocksdb::Env::IO_HIGH), 4096);
  EXPECT_EQ(limiter_->GetTotalBytesThrough(rocksdb::Env::IO_TOTAL), 3 * 4096);
  EXPECT_EQ(limiter_->GetTotalRequests(rocksdb::Env::IO_LOW), 2);
  limiter_->Release();
  ExpectWritten();
}

TEST(SilkLimiter, ReturnsItsRate) {
  Limiter limiter({}, kNever);
  EXPECT_EQ(limiter.GetBytesPerSecond(), 200'000'000);
  limiter.SetShare(50e6, false);
  EXPECT_EQ(limiter.GetBytesPerSecond(), 50'000'000);
  limiter.SetBytesPerSecond(70'000'000);
  EXPECT_EQ(limiter.GetBytesPerSecond(), 70'000'000);
}

}  // namespace

}  // namespace kvdyno::silk
