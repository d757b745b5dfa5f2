// Rare orders of events, made certain: the tests hold threads at moments inside the store
// (hooks/moments.h), which only this build has.
#include "hooks/moments.h"

#include <malloc.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "hooks/seeded_bugs.h"
#include "store/store_fixture.h"

namespace chunkstore {
namespace {

// A door that stays open once it was opened.
class Door {
 public:
  void Open() { open_ = true; }
  bool open() const { return open_; }
  void Wait() const {
    while (!open_) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }

 private:
  std::atomic<bool> open_{false};
};

class MomentsTest : public StoreTest {
 protected:
  ~MomentsTest() override {
    store_.reset();
    at_moment = {};
    seeded_bug = Bug::kNone;
  }

  void Open(int background_threads) {
    options_.background_threads = background_threads;
    StoreTest::Open();
  }
  static void Ok(const Status& status) { EXPECT_TRUE(IsOk(status)); }
  // The next write waits in the middle until a munk is shown to writers.
  void HoldOnePut() {
    at_moment = [this](Moment moment) {
      if (moment == Moment::kWriteShown && hold_next_.exchange(false)) {
        put_shown_.Open();
        munk_shown_.Wait();
      }
      if (moment == Moment::kMunkShown && put_shown_.open()) munk_shown_.Open();
    };
  }
  // Reads the key, so that its chunk is hot, until a munk was made that the statistic counts.
  void ReadUntilCounted(const std::string& statistic, const std::string& key) {
    while (Stat(statistic) == 0) Get(key);
  }

  // Two rounds' worth of logs that scans read from disk, none of them due.
  void OpenWithLogs() {
    options_.munk_cache_size = options_.row_cache_size = options_.block_cache_size = 0;
    options_.log_limit = 1 << 20;
    options_.log_debt_limit = 1 << 30;
    Open(0);
    constexpr int kRows = 6000;
    for (int row = 0; row < kRows; ++row) Put(KeyOf(row), std::string(4000, 'v'));
    Ok(store_->Compact());
    for (int row = 0; row < kRows; row += 5) Put(KeyOf(row), std::string(1000, 'w'));
    Ok(store_->Flush());
    Ok(store_->Close());
    Open(1);
  }

  void LetADeletionOvertakeAPut() {
    HoldOnePut();
    Open(1);
    Ok(store_->Put("other", "1"));
    hold_next_ = true;
    std::thread late([this] { Ok(store_->Put("k", "late")); });
    put_shown_.Wait();
    Ok(store_->Delete("k"));
    ReadUntilCounted("munk_loads", "other");
    late.join();
  }

  std::atomic<bool> hold_next_{false};
  Door put_shown_, munk_shown_;
};

// Put("k") is held between the clock and the indexes while Delete("k") passes it; then a munk is
// made, and the put goes on.
TEST_F(MomentsTest, AWriteThatADeletionOvertookDoesNotReturnInANewMunk) {
  LetADeletionOvertakeAPut();
  EXPECT_EQ(Get("k"), "not found");
  Ok(store_->Compact());
  EXPECT_EQ(Get("k"), "not found");
  Ok(store_->Close());
  Open(1);
  EXPECT_EQ(Get("k"), "not found");
}

TEST_F(MomentsTest, ItWouldReturnIfTheMunkForgotTheDeletion) {
  seeded_bug = Bug::kForgetsLateWrites;
  LetADeletionOvertakeAPut();
  EXPECT_EQ(Get("k"), "late");
  Ok(store_->Compact());
  EXPECT_EQ(Get("k"), "late") << "for good";
}

TEST_F(MomentsTest, NorInTheSuccessorOfAMunk) {
  HoldOnePut();
  Open(1);
  Ok(store_->Put("other", std::string(1000, 'v')));
  ReadUntilCounted("munk_loads", "other");
  hold_next_ = true;
  std::thread late([this] { Ok(store_->Put("k", "late")); });
  put_shown_.Wait();
  Ok(store_->Delete("k"));
  // Enough for a munk to be made again, and too little for a stage.
  for (int i = 0; i < 20; ++i) Ok(store_->Put("other", std::string(1000, 'w')));
  ReadUntilCounted("munk_rebalances", "other");
  late.join();
  EXPECT_EQ(Get("k"), "not found");
  Ok(store_->Compact());
  EXPECT_EQ(Get("k"), "not found");
}

// More logs are due, because scans read them, than one round merges when the flush begins.
TEST_F(MomentsTest, AFlushDoesNotWaitForLogsThatAreMergedForScans) {
  Door merging, called, done;
  std::atomic<int> rounds{0}, rounds_in_call{0};
  at_moment = [&](Moment moment) {
    if (moment == Moment::kMaintenanceCalled && merging.open()) called.Open();
    if (moment == Moment::kMaintenanceDone && called.open()) done.Open();
    if (moment != Moment::kMergingForScans) return;
    ++rounds;
    if (called.open() && !done.open()) ++rounds_in_call;
    merging.Open();
    called.Wait();
  };
  OpenWithLogs();
  while (!merging.open()) ExpectAll();
  for (int i = 0; i < 20; ++i) ExpectAll();  // what one round leaves is due, too
  Ok(store_->Flush());
  EXPECT_EQ(rounds_in_call, 0);
  while (rounds < 2) ExpectAll();
  Ok(store_->Close());
}

// A round that is held begins when the store has been open for as long as scans must last, and no scan
// has come. The round before it saw none either, so the count begins there, not at the opening.
TEST_F(MomentsTest, NothingIsMergedForScansInTheirFirstTwoSeconds) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kPassing = std::chrono::seconds(2);
  std::atomic<bool> hold{false};
  Door held, scanned, merging;
  std::atomic<Clock::time_point> last_idle{}, merged{};
  at_moment = [&](Moment moment) {
    if (moment == Moment::kMergingForScans && !merging.open()) {
      merged = Clock::now();
      merging.Open();
    }
    if (moment != Moment::kRoundBegun || held.open()) return;
    if (hold) {
      held.Open();
      scanned.Wait();
    } else {
      last_idle = Clock::now();
    }
  };
  OpenWithLogs();
  std::this_thread::sleep_for(kPassing);
  hold = true;
  held.Wait();
  ExpectAll();
  scanned.Open();
  while (!merging.open()) ExpectAll();
  EXPECT_GE(merged.load() - last_idle.load(), kPassing);
  Ok(store_->Close());
}

// The get looks when one of the batch's two operations is in the index.
TEST_F(MomentsTest, AGetDoesNotSeeHalfABatch) {
  Door get_begun, half_entered, get_looked;
  std::atomic<int> entered{-1};  // that of the first put
  at_moment = [&](Moment moment) {
    if (moment == Moment::kGetBegun && !get_begun.open()) {
      get_begun.Open();
      half_entered.Wait();
    }
    if (moment == Moment::kOperationEntered && entered.fetch_add(1) == 0) {
      half_entered.Open();
      get_looked.Wait();
    }
    if (moment == Moment::kGetLooked) get_looked.Open();
  };
  Open(0);
  Ok(store_->Put("k", "old"));
  std::string got;
  std::thread reader([&] { got = Get("k"); });
  get_begun.Wait();
  WriteBatch batch;
  batch.Delete("k");
  batch.Put("k", "new");
  Ok(store_->Write(batch));
  reader.join();
  EXPECT_EQ(got, "new");
  EXPECT_EQ(entered, 2);
}

// A multi-get is between two groups of keys, and holds nothing but its place in the gate.
TEST_F(MomentsTest, TheDestructorWaitsForAMultiGet) {
  Door between, closing;
  std::atomic<int> keys{0};
  at_moment = [&](Moment moment) {
    if (moment != Moment::kBetweenPins || keys.fetch_add(1) != 1) return;
    between.Open();
    closing.Wait();
    // Long enough for a destructor that does not wait.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  };
  Open(0);
  Ok(store_->Put("a", "1"));
  Ok(store_->Put("b", "2"));
  std::vector<std::string> values;
  std::vector<Status> statuses;
  std::vector<std::string_view> many(40, "a");  // more than are looked up under one pin
  many.back() = "b";
  std::thread reader([&] { store_->MultiGet({}, many, &values, &statuses); });
  between.Wait();
  std::thread closer([&] {
    closing.Open();
    store_.reset();
    EXPECT_EQ(values.size(), many.size()) << "the call had ended";
  });
  reader.join();
  closer.join();
  ASSERT_EQ(statuses.size(), many.size());
  EXPECT_EQ(values[0], "1");
  Ok(statuses.front());
  Ok(statuses.back());
  EXPECT_EQ(values.back(), "2");
}

// The first round counts indexes, and none is loaded yet. The next count is due a second later.
TEST_F(MomentsTest, IndexesThatWereJustLoadedAreCounted) {
  std::atomic<int> rounds{0};
  at_moment = [&](Moment moment) {
    if (moment == Moment::kRoundBegun) ++rounds;
  };
  const auto wait_for = [&](int round) {
    while (rounds < round) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  options_.munk_cache_size = options_.row_cache_size = options_.block_cache_size = 0;
  options_.stage_size = options_.chunk_size = 1 << 20;
  options_.block_size = 256;
  constexpr int kRows = 300'000, kRowsOfChunk = 1000;
  Open(0);
  for (int row = 0; row < kRows; ++row) Ok(store_->Put(KeyOf(row), std::string(200, 'v')));
  Ok(store_->Compact());
  Ok(store_->Close());
  store_.reset();
#ifdef __GLIBC__
  ::malloc_trim(0);  // else indexes would take free pages of the heap, and the process not grow
#endif
  rounds = 0;
  Open(1);
  wait_for(2);
  for (int row = 0; row < kRows; row += kRowsOfChunk) EXPECT_NE(Get(KeyOf(row)), "not found");
  wait_for(rounds + 2);
  EXPECT_GT(Stat("index_bytes"), 8e6);
}

}  // namespace
}  // namespace chunkstore
