// What a program that embeds the store may ask for: durability of a single write, a quick close, a
// log, memory shared with other stores.
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "chunkstore/shared_budget.h"
#include "kvdyno/base/testing/fault_file_system.h"
#include "store/store_fixture.h"

namespace chunkstore {
namespace {

class HostTest : public StoreTest {
 protected:
  void PutWith(Durability durability, const std::string& key) {
    ASSERT_TRUE(IsOk(store_->Put(WriteOptions{durability}, key, "1")));
  }
};

TEST_F(HostTest, AWriteMayPromiseMoreThanTheStore) {
  for (const Durability durability : {Durability::kNone, Durability::kAsync}) {
    SCOPED_TRACE(static_cast<int>(durability));
    options_.durability = durability;
    Open();
    ASSERT_TRUE(IsOk(store_->Put("before", "1")));
    PutWith(Durability::kSync, "synced");
    ASSERT_TRUE(IsOk(store_->Put("after", "1")));
    Die(Loss::kDropAll);
    Open();
    EXPECT_EQ(Get("synced"), "1");
    EXPECT_EQ(Get("before"), "1") << "what is durable is a prefix";
    EXPECT_EQ(Get("after"), "not found");
    WriteBatch batch;
    batch.Delete("synced");
    batch.Put("batch", "1");
    ASSERT_TRUE(IsOk(store_->Write({Durability::kSync}, batch)));
    ASSERT_TRUE(IsOk(store_->Delete({Durability::kSync}, "before")));
    Die(Loss::kDropAll);
    Open();
    EXPECT_EQ(Get("synced"), "not found");
    EXPECT_EQ(Get("before"), "not found");
    EXPECT_EQ(Get("batch"), "1");
    ASSERT_TRUE(IsOk(store_->Compact()));
    store_.reset();
    ASSERT_TRUE(IsOk(Store::Destroy(options_, kDirectory)));
  }
}

TEST_F(HostTest, AWriteMayPromiseLessThanTheStore) {
  options_.durability = Durability::kSync;
  Open();
  ASSERT_TRUE(IsOk(store_->Put("synced", "1")));
  PutWith(Durability::kAsync, "quick");
  Die(Loss::kDropAll);
  Open();
  EXPECT_EQ(Get("synced"), "1");
  EXPECT_EQ(Get("quick"), "not found");
  PutWith(Durability::kAsync, "quick");
  ASSERT_TRUE(IsOk(store_->Put("next", "1")));
  Die(Loss::kDropAll);
  Open();
  EXPECT_EQ(Get("quick"), "1") << "a later write that is synced takes it along";
}

TEST_F(HostTest, AWriteIsSafeFromTheProcessesDeathWhereTheStoreIsNot) {
  options_.durability = Durability::kNone;
  Open();
  PutWith(Durability::kAsync, "kept");
  PutWith(Durability::kNone, "lost");
  Die(Loss::kKeepAll);
  Open();
  EXPECT_EQ(Get("kept"), "1");
  EXPECT_EQ(Get("lost"), "not found");
}

TEST_F(HostTest, AQuickCloseLeavesReorganisationToTheNextOpen) {
  options_.log_limit = 4 << 10;
  double debts[2];
  for (const bool reorganise : {true, false}) {
    Open();
    PutMany(0, 1500, 60);
    ASSERT_TRUE(IsOk(store_->Compact()));
    PutMany(0, 700, 60, 'w');  // less than a stage: nothing is flushed
    ASSERT_TRUE(IsOk(store_->Close({.reorganise = reorganise})));
    Open();
    EXPECT_TRUE(store_->recovery().clean);
    EXPECT_EQ(store_->recovery().recovered_records, 0u);
    debts[reorganise ? 1 : 0] = Stat("log_debt");
    ExpectAll();
  }
  EXPECT_GT(debts[0], 2 * debts[1]) << "quick and thorough";
  ASSERT_TRUE(IsOk(store_->Flush()));
  EXPECT_LT(Stat("log_debt"), debts[0] / 2) << "paid later";
}

// Another store may open the directory as soon as it is not locked any more.
TEST_F(HostTest, NothingIsRemovedOrPunchedBehindAClose) {
  kvdyno::testing::FaultFileSystem slow(&files_);
  options_.file_system = &slow;
  options_.background_threads = 1;
  std::atomic<int> calls{0};
  slow.SetPlan([&calls](const kvdyno::testing::Call& call) {
    if (call.name != "remove" && call.name != "punch") return Status::Ok();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ++calls;
    return Status::Ok();
  });
  Open();
  for (char letter = 'a'; letter < 'f'; ++letter) {
    ASSERT_NO_FATAL_FAILURE(PutMany(0, 2000, 200, letter));
  }
  ASSERT_TRUE(IsOk(store_->Close({.reorganise = false})));
  const int before = calls;
  EXPECT_GT(before, 0);
  store_.reset();
  EXPECT_EQ(calls, before);
}

class Lines final : public Logger {
 public:
  void Log(LogLevel level, std::string_view line) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    lines_.emplace_back(level, line);
  }
  // How many lines of that level hold these words.
  int Count(LogLevel level, std::string_view words) {
    const std::lock_guard<std::mutex> lock(mutex_);
    int count = 0;
    for (const auto& [each, line] : lines_) {
      if (each == level && line.find(words) != std::string::npos) ++count;
    }
    return count;
  }

 private:
  std::mutex mutex_;
  std::vector<std::pair<LogLevel, std::string>> lines_;
};

TEST_F(HostTest, TheLogShowsWhatHappensBesideTheCalls) {
  Lines lines;
  options_.logger = &lines;
  Open();
  EXPECT_EQ(lines.Count(LogLevel::kInfo, "/store: opened; closed properly"), 1);
  PutMany(0, 100, 60);
  // The disk is full for a while: one line, however often the flush is tried.
  files_.SetCapacity(0);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(store_->Flush().code(), Code::kNoSpace);
  EXPECT_EQ(lines.Count(LogLevel::kWarning, "flush: "), 1);
  files_.SetCapacity(UINT64_MAX);
  ASSERT_TRUE(IsOk(store_->Flush()));
  EXPECT_EQ(lines.Count(LogLevel::kInfo, "flushing works again"), 1);
  ASSERT_TRUE(IsOk(store_->Backup("/copy")));
  EXPECT_EQ(lines.Count(LogLevel::kInfo, "back up to /copy: done"), 1);
  ASSERT_TRUE(IsOk(store_->Close()));
  EXPECT_EQ(lines.Count(LogLevel::kInfo, "/store: closed"), 1);
  EXPECT_EQ(lines.Count(LogLevel::kError, ""), 0);
  Open();
  PutMany(0, 10, 60);
  Die(Loss::kKeepAll);
  Open();
  EXPECT_GE(lines.Count(LogLevel::kError, "/store: close: "), 1) << "its files were gone";
  EXPECT_EQ(lines.Count(LogLevel::kInfo, "not closed properly, recovered 10 records"), 1);
  store_.reset();  // before the log
}

TEST_F(HostTest, StoresOfOneBudgetFollowTheirReads) {
  constexpr uint64_t kOwn = Options::kLeastBudget, kAll = 4 * kOwn;
  options_.shared_budget = std::make_shared<SharedBudget>(kAll);
  Open();
  for (int i = 0; i < 250; ++i) Put(KeyOf(i), std::string(100 << 10, 'v'));
  ASSERT_TRUE(IsOk(store_->Compact()));
  std::unique_ptr<Store> idle;
  ASSERT_TRUE(IsOk(Store::Open(options_, "/idle", &idle)));
  const auto budget_of = [](const Store& store) {
    for (const Statistic& each : store.GetStatistics()) {
      if (each.name == "memory_budget") return each.value;
    }
    return -1.0;
  };
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 250; ++i) EXPECT_NE(Get(KeyOf(i)), "not found");
    ASSERT_TRUE(IsOk(store_->Flush()));
    ASSERT_TRUE(IsOk(idle->Flush()));
    EXPECT_LE(budget_of(*store_) + budget_of(*idle), kAll);
  }
  EXPECT_GT(budget_of(*store_), static_cast<double>(kOwn)) << "it borrows";
  EXPECT_LE(budget_of(*idle), static_cast<double>(kOwn));
  // Without a part of its own, no store.
  options_.memory_budget = 3 * kOwn;
  std::unique_ptr<Store> third;
  const Status refused = Store::Open(options_, "/third", &third);
  EXPECT_EQ(refused.code(), Code::kInvalidArgument) << refused.ToString();
  EXPECT_FALSE(files_.Exists("/third"));
}

}  // namespace
}  // namespace chunkstore
