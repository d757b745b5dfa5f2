#include "settle.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

namespace kvdyno::rocks {

namespace {

namespace fs = std::filesystem;

using Verdict = QuietWatch::Verdict;

TEST(RocksQuietWatch, AFewQuietLooksAreEnough) {
  QuietWatch watch;
  for (int look = 1; look < QuietWatch::kQuietLooks; look++) {
    EXPECT_EQ(watch.Look(0, 0), Verdict::kKeepLooking);
  }
  EXPECT_EQ(watch.Look(0, 0), Verdict::kQuiet);
}

TEST(RocksQuietWatch, WorkBetweenQuietLooksStartsThemAgain) {
  for (const auto& [pending, running] : {std::pair(1, 0), {0, 1}}) {
    QuietWatch watch;
    for (int round = 0; round < 10; round++) {
      for (int look = 1; look < QuietWatch::kQuietLooks; look++) {
        EXPECT_EQ(watch.Look(0, 0), Verdict::kKeepLooking);
      }
      EXPECT_EQ(watch.Look(static_cast<uint64_t>(pending), static_cast<uint64_t>(running)),
                Verdict::kKeepLooking);
    }
  }
}

TEST(RocksQuietWatch, PendingWorkIsStuckOnlyWhenNothingRunsForLong) {
  QuietWatch watch;
  const auto pending = [&](int looks) {
    for (int look = 0; look < looks; look++) EXPECT_EQ(watch.Look(1, 0), Verdict::kKeepLooking);
  };
  pending(QuietWatch::kStuckLooks - 1);
  EXPECT_EQ(watch.Look(1, 1), Verdict::kKeepLooking);
  pending(QuietWatch::kStuckLooks - 1);
  EXPECT_EQ(watch.Look(1, 0), Verdict::kStuck);
}

class RocksSettle : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(directory_.data()), nullptr); }
  void TearDown() override {
    db_.reset();
    fs::remove_all(directory_);
  }

  void Open(rocksdb::Options options) {
    options.create_if_missing = true;
    options.level0_file_num_compaction_trigger = 2;
    rocksdb::DB* db = nullptr;
    ASSERT_TRUE(rocksdb::DB::Open(options, directory_, &db).ok());
    db_.reset(db);
  }

  // Leaves a file more at level 0.
  void WriteFile() {
    ASSERT_TRUE(db_->Put(rocksdb::WriteOptions(), "key", "value").ok());
    ASSERT_TRUE(db_->Flush(rocksdb::FlushOptions()).ok());
  }

  uint64_t Level0Files() {
    std::string files;
    EXPECT_TRUE(db_->GetProperty("rocksdb.num-files-at-level0", &files));
    return std::stoull(files);
  }

  // Waits, and counts the pauses in between.
  int Wait() {
    int pauses = 0;
    const Status waited = WaitForBackgroundWork(db_.get(), [&pauses] {
      pauses++;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    EXPECT_TRUE(waited.ok()) << waited.ToString();
    return pauses;
  }

  std::string directory_ = fs::temp_directory_path() / "kvdyno-rocksdb-XXXXXX";
  std::unique_ptr<rocksdb::DB> db_;
};

TEST_F(RocksSettle, IdleStoreTakesTheFewestLooks) {
  Open({});
  EXPECT_EQ(Wait(), QuietWatch::kQuietLooks - 1);
}

TEST_F(RocksSettle, DueCompactionsAreWaitedFor) {
  Open({});
  for (int round = 0; round < 5; round++) {
    WriteFile();
    WriteFile();
    Wait();
    EXPECT_LT(Level0Files(), 2u);
  }
}

TEST_F(RocksSettle, CompactionsThatAreOffAreNotWaitedFor) {
  rocksdb::Options options;
  options.disable_auto_compactions = true;
  Open(options);
  for (int file = 0; file < 4; file++) WriteFile();
  Wait();
  EXPECT_EQ(Level0Files(), 4u);
}

}  // namespace

}  // namespace kvdyno::rocks
