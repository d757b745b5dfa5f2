// How gets find rows in logs: by an index, which a closed store saves, or by Bloom filters.
#include "check/check.h"
#include "funk/warmth.h"
#include "store/store_fixture.h"

namespace chunkstore {
namespace {

class LogLookupTest : public StoreTest {};

// Every chunk's log lies in as many places as there are flushes.
class LongLogsTest : public StoreTest {
 protected:
  LongLogsTest() {
    options_.munk_cache_size = options_.row_cache_size = options_.block_cache_size = 0;
    options_.log_limit = 1 << 20;
    options_.log_debt_limit = uint64_t{1} << 30;
  }
  void Build() {
    Open();
    PutMany(0, 2000, 100);
    ASSERT_TRUE(IsOk(store_->Compact()));
    for (int round = 0; round < 20; ++round) {
      for (int i = round % 4; i < 2000; i += 4) Put(KeyOf(i), std::to_string(i + round));
      ASSERT_TRUE(IsOk(store_->Flush()));
    }
    ASSERT_GT(Stat("chunks"), 8);
  }
  // Calls of the file system for 40 gets all over the store.
  double ReadsOfSomeGets() {
    const double reads = Stat("read_calls");
    for (int i = 0; i < 2000; i += 50) EXPECT_EQ(Get(KeyOf(i)), rows_[KeyOf(i)]);
    return Stat("read_calls") - reads;
  }
};

TEST_F(LongLogsTest, AStoreThatWasClosedKnowsItsLogs) {
  Build();
  Reopen();
  EXPECT_EQ(ReadsOfSomeGets(), 40) << "one block a get";
  // Only some indexes were loaded; the close saved the others as well.
  Reopen();
  EXPECT_EQ(ReadsOfSomeGets(), 40);
  Reopen();
  for (int i = 0; i < 2000; i += 2) Put(KeyOf(i), "new");
  ASSERT_TRUE(IsOk(store_->Flush()));
  Reopen();
  ExpectAll();
  Die(Loss::kKeepAll);
  Open();
  EXPECT_GT(ReadsOfSomeGets(), 100) << "only a closed store was saved";
  ExpectAll();
}

TEST_F(LongLogsTest, ADamagedFileOfIndexesIsReportedAndDoneWithout) {
  Build();
  ASSERT_TRUE(IsOk(store_->Close()));
  store_.reset();
  const auto problems = [&] {
    CheckReport report;
    EXPECT_TRUE(IsOk(CheckStore(&files_, kDirectory, &report)));
    CheckWarmth(&files_, kDirectory, &report);
    return report.problems;
  };
  const std::string path = kDirectory + ("/" + WarmthName(1));
  EXPECT_TRUE(problems().empty());
  ASSERT_TRUE(IsOk(files_.Flip(path, 8 * 50)));
  ASSERT_EQ(problems().size(), 1u);
  EXPECT_NE(problems()[0].find(WarmthName(1)), std::string::npos) << problems()[0];
  CheckReport report;
  ASSERT_TRUE(IsOk(Store::Repair(options_, kDirectory, &report)));
  EXPECT_TRUE(report.problems.empty()) << "no data are damaged";
  Open();
  ExpectAll();
  Reopen();
  ASSERT_TRUE(IsOk(store_->Close()));
  store_.reset();
  EXPECT_TRUE(problems().empty()) << "the next close writes a new one";
}

TEST_F(LongLogsTest, ReadsIndexesOfLogsThatWereNotSaved) {
  Build();
  Die(Loss::kKeepAll);
  options_.background_threads = 1;
  Open();
  EXPECT_EQ(Stat("logs_warmed"), 0) << "there was no read";
  // The first get makes its own chunk's index; one of each other chunk has only to be noticed.
  for (const auto& [key, value] : rows_) {
    ASSERT_EQ(Get(key), value);
    if (Stat("logs_warmed") > 0) break;
  }
  ScanAll();
  ASSERT_TRUE(IsOk(store_->Flush())) << "until nothing is left to do";
  EXPECT_LE(ReadsOfSomeGets(), 40) << "one block a get";
}

TEST_F(LogLookupTest, BothLogLookupsGiveTheSameAnswers) {
  std::map<LogLookup, std::vector<std::string>> answers;
  std::map<LogLookup, double> searched;
  for (const LogLookup lookup : {LogLookup::kIndex, LogLookup::kBloom}) {
    options_.log_lookup = lookup;
    options_.log_limit = 32 << 10;
    options_.bloom_split = 4;
    options_.munk_cache_size = 0;
    options_.row_cache_size = 0;
    Open();
    PutShuffled(1500, 60, 9);
    ASSERT_TRUE(IsOk(store_->Flush()));
    for (int i = 0; i < 1500; i += 7) Delete(KeyOf(i));
    ASSERT_TRUE(IsOk(store_->Flush()));
    ASSERT_GT(Stat("log_debt"), 0);
    for (const bool reopened : {false, true}) {
      if (reopened) Reopen();
      const double before = Stat("log_searched_bytes");
      for (int i = 0; i < 1600; ++i) answers[lookup].push_back(Get(KeyOf(i)));
      EXPECT_GT(Stat("log_gets"), 0);
      EXPECT_GT(Stat("log_searched_bytes"), before);
      searched[lookup] = Stat("log_searched_bytes");
    }
    ExpectAll();
    store_.reset();
    ASSERT_TRUE(IsOk(Store::Destroy(options_, kDirectory)));
    rows_.clear();
  }
  EXPECT_TRUE(answers[LogLookup::kIndex] == answers[LogLookup::kBloom]);
  EXPECT_GT(searched[LogLookup::kBloom], searched[LogLookup::kIndex]);
}

}  // namespace
}  // namespace chunkstore
