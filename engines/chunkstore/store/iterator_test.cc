// Iterators and scans over every kind of place where rows are, against a map.
#include <algorithm>

#include "kvdyno/base/testing/rng.h"
#include "store/store_fixture.h"

namespace chunkstore {
namespace {

using kvdyno::testing::Rng;

class IteratorTest : public StoreTest {
 protected:
  // Where both are is the same.
  static void ExpectAt(const Iterator& iterator, const Rows& rows, Rows::const_iterator at) {
    ASSERT_TRUE(IsOk(iterator.status()));
    ASSERT_EQ(iterator.Valid(), at != rows.end());
    if (!iterator.Valid()) return;
    ASSERT_EQ(::testing::PrintToString(iterator.key()),
              ::testing::PrintToString(std::string_view(at->first)));
    ASSERT_TRUE(iterator.value() == at->second);
  }

  static Rows::const_iterator AtOrBefore(const Rows& rows, const std::string& key) {
    auto at = rows.upper_bound(key);
    return at == rows.begin() ? rows.end() : std::prev(at);
  }

  // All the way up and down.
  void ExpectWalks(const Rows& rows) {
    const auto iterator = store_->NewIterator({});
    iterator->SeekToFirst();
    for (auto at = rows.begin(); at != rows.end(); ++at) {
      ASSERT_NO_FATAL_FAILURE(ExpectAt(*iterator, rows, at));
      iterator->Next();
    }
    ASSERT_NO_FATAL_FAILURE(ExpectAt(*iterator, rows, rows.end()));
    iterator->SeekToLast();
    for (auto at = rows.rbegin(); at != rows.rend(); ++at) {
      ASSERT_NO_FATAL_FAILURE(ExpectAt(*iterator, rows, std::prev(at.base())));
      iterator->Prev();
    }
    ASSERT_NO_FATAL_FAILURE(ExpectAt(*iterator, rows, rows.end()));
  }

  static void RandomMoves(Rng* rng, Iterator* iterator, const Rows& rows, int moves,
                          const std::function<std::string()>& random_key) {
    auto at = rows.end();
    bool up = true;
    for (int i = 0; i < moves; ++i) {
      const uint64_t choice = rng->Below(at == rows.end() ? 5 : 40);
      if (choice == 0) {
        iterator->SeekToFirst();
        at = rows.begin();
      } else if (choice == 1) {
        iterator->SeekToLast();
        at = rows.empty() ? rows.end() : std::prev(rows.end());
      } else if (choice < 4) {
        const std::string key = random_key();
        iterator->Seek(key);
        at = rows.lower_bound(key);
      } else if (choice < 6) {
        const std::string key = random_key();
        iterator->SeekForPrev(key);
        at = AtOrBefore(rows, key);
      } else {
        if (choice == 6) up = !up;
        if (up) {
          iterator->Next();
          ++at;
        } else {
          iterator->Prev();
          at = at == rows.begin() ? rows.end() : std::prev(at);
        }
      }
      ASSERT_NO_FATAL_FAILURE(ExpectAt(*iterator, rows, at)) << "move " << i;
    }
  }

  void ExpectRange(const Rows& rows, const ScanOptions& options, bool stop_early) {
    std::vector<std::pair<std::string, std::string>> expected;
    for (const auto& [key, value] : rows) {
      if (key >= options.start && (options.end.empty() || key < options.end)) {
        expected.emplace_back(key, value);
      }
    }
    if (options.reverse) std::reverse(expected.begin(), expected.end());
    if (options.limit > 0 && expected.size() > options.limit) expected.resize(options.limit);
    if (stop_early && expected.size() > 2) expected.resize(2);
    std::vector<std::pair<std::string, std::string>> found;
    ASSERT_TRUE(IsOk(store_->Scan(options, [&](std::string_view key, std::string_view value) {
      found.emplace_back(key, value);
      return !stop_early || found.size() < 2;
    })));
    ASSERT_TRUE(found == expected) << found.size() << " rows, expected " << expected.size();
  }
};

TEST_F(IteratorTest, OverNothing) {
  Open();
  const auto iterator = store_->NewIterator({});
  EXPECT_FALSE(iterator->Valid()) << "nowhere before the first seek";
  iterator->SeekToFirst();
  EXPECT_FALSE(iterator->Valid());
  iterator->SeekToLast();
  EXPECT_FALSE(iterator->Valid());
  iterator->Seek("a");
  EXPECT_FALSE(iterator->Valid());
  iterator->SeekForPrev("a");
  EXPECT_FALSE(iterator->Valid());
  EXPECT_TRUE(IsOk(iterator->status()));
}

TEST_F(IteratorTest, MeetsTheEmptyKeyFirst) {
  Open();
  Put("", "empty");
  Put(std::string(1, '\0'), "zero");
  Put("a", "");
  Put(std::string("a\0", 2), "after a");
  Put("\xff\xff", "last");
  for (const bool flushed : {false, true}) {
    if (flushed) {
      ASSERT_TRUE(IsOk(store_->Flush()));
    }
    ASSERT_NO_FATAL_FAILURE(ExpectWalks(rows_));
    const auto iterator = store_->NewIterator({});
    iterator->SeekForPrev({});
    ASSERT_TRUE(iterator->Valid());
    EXPECT_EQ(iterator->value(), "empty");
    iterator->Prev();
    EXPECT_FALSE(iterator->Valid());
    iterator->SeekForPrev("a");
    ASSERT_TRUE(iterator->Valid());
    EXPECT_EQ(iterator->key(), "a");
    EXPECT_EQ(iterator->value(), "");
    iterator->Seek(std::string_view("a\0", 2));
    ASSERT_TRUE(iterator->Valid());
    EXPECT_EQ(iterator->value(), "after a");
    iterator->SeekForPrev("\xff\xff\xff");
    ASSERT_TRUE(iterator->Valid());
    EXPECT_EQ(iterator->value(), "last");
  }
}

// Windows of a backward walk without a table to cut them at.
TEST_F(IteratorTest, ThousandsOfRowsInTheStagesAlone) {
  options_.memory_budget = 32 << 20;
  options_.stage_size = 4 << 20;
  Open();
  PutMany(0, 5000, 10);
  for (int i = 0; i < 5000; i += 7) Delete(KeyOf(i));
  ASSERT_EQ(Stat("flushes"), 0);
  ExpectWalks(rows_);
  Rng rng(1);
  const auto iterator = store_->NewIterator({});
  RandomMoves(&rng, iterator.get(), rows_, 4000,
              [&] { return KeyOf(static_cast<int>(rng.Below(5100)) - 50); });
}

TEST_F(IteratorTest, LogsWithoutATable) {
  options_.chunk_size = 1 << 20;
  options_.munk_cache_size = 0;
  Open();
  PutMany(0, 1500, 60);
  ASSERT_TRUE(IsOk(store_->Flush()));
  PutMany(700, 900, 50, 'w');
  for (int i = 0; i < 1500; i += 5) Delete(KeyOf(i));
  ASSERT_TRUE(IsOk(store_->Flush()));
  ASSERT_GT(Stat("log_debt"), 0);
  ASSERT_EQ(Stat("rebalances") + Stat("splits") + Stat("adoptions"), 0);
  ExpectWalks(rows_);
  Reopen();
  ExpectWalks(rows_);
}

TEST_F(IteratorTest, TablesAlone) {
  Open();
  PutMany(0, 2000, 100);
  ASSERT_TRUE(IsOk(store_->Compact()));
  ASSERT_EQ(Stat("log_debt"), 0);
  ASSERT_GT(Stat("chunks"), 4);
  ExpectWalks(rows_);
}

TEST_F(IteratorTest, Munks) {
  options_.munk_cache_size = 4 << 20;
  Open();
  PutMany(0, 2000, 100);
  ASSERT_TRUE(IsOk(store_->Compact()));
  for (int round = 0; round < 20 && Stat("munks") < Stat("chunks"); ++round) {
    for (int i = 0; i < 2000; ++i) Get(KeyOf(i));
    ASSERT_TRUE(IsOk(store_->Flush()));
  }
  ASSERT_EQ(Stat("munks"), Stat("chunks"));
  for (int i = 0; i < 2000; i += 3) Delete(KeyOf(i));
  PutMany(500, 520, 300, 'x');
  ExpectWalks(rows_);
}

TEST_F(IteratorTest, LargeValues) {
  options_.memory_budget = 32 << 20;
  Open();
  for (int i = 0; i < 40; ++i) Put(KeyOf(i), std::string(i % 3 == 0 ? 300'000 : 10, 'v'));
  ExpectWalks(rows_);
  ASSERT_TRUE(IsOk(store_->Flush()));
  ExpectWalks(rows_);
  ASSERT_TRUE(IsOk(store_->Compact()));
  ExpectWalks(rows_);
}

// Long stretches of deleted rows, over which windows stay empty.
TEST_F(IteratorTest, StepsOverDeletedRanges) {
  Open();
  PutMany(0, 3000, 40);
  ASSERT_TRUE(IsOk(store_->Compact()));
  for (int i = 100; i < 2900; ++i) Delete(KeyOf(i));
  ExpectWalks(rows_);
  const auto iterator = store_->NewIterator({});
  iterator->Seek(KeyOf(500));
  ExpectAt(*iterator, rows_, rows_.find(KeyOf(2900)));
  iterator->Prev();
  ExpectAt(*iterator, rows_, rows_.find(KeyOf(99)));
  iterator->SeekForPrev(KeyOf(2000));
  ExpectAt(*iterator, rows_, rows_.find(KeyOf(99)));
  iterator->Next();
  ExpectAt(*iterator, rows_, rows_.find(KeyOf(2900)));
}

TEST_F(IteratorTest, StaysAtItsMoment) {
  Open();
  PutMany(0, 1000, 50);
  const Rows before = rows_;
  const auto iterator = store_->NewIterator({});
  const auto snapshot = store_->GetSnapshot();
  PutMany(500, 1500, 60, 'n');
  for (int i = 0; i < 500; ++i) Delete(KeyOf(i));
  const auto at_snapshot = store_->NewIterator({snapshot.get()});
  for (int round = 0; round < 3; ++round) {
    for (Iterator* one : {iterator.get(), at_snapshot.get()}) {
      one->SeekToFirst();
      for (auto at = before.begin(); at != before.end(); ++at, one->Next()) {
        ASSERT_NO_FATAL_FAILURE(ExpectAt(*one, before, at));
        if (round == 0 && at->first == KeyOf(300)) {
          ASSERT_TRUE(IsOk(store_->Flush()));
        }
        if (round == 1 && at->first == KeyOf(600)) {
          ASSERT_TRUE(IsOk(store_->Compact()));
        }
      }
      ASSERT_FALSE(one->Valid());
    }
  }
  ExpectWalks(rows_);
}

TEST_F(IteratorTest, RefusesAfterClose) {
  Open();
  Put("a", "1");
  ASSERT_TRUE(IsOk(store_->Close()));
  const auto iterator = store_->NewIterator({});
  iterator->SeekToFirst();
  EXPECT_FALSE(iterator->Valid());
  EXPECT_EQ(iterator->status().code(), Code::kInvalidArgument);
  iterator->SeekToLast();
  EXPECT_FALSE(iterator->Valid());
  EXPECT_EQ(iterator->status().code(), Code::kInvalidArgument);
}

// Everything at random: keys that are prefixes and neighbours of each other, values from none to
// larger than a stage, flushes, compactions and warm chunks in between.
class RandomIteratorTest : public IteratorTest {
 protected:
  static std::string RandomKey(Rng* rng) {
    static constexpr char kBytes[] = {'\0', '\1', 'a', 'b', '\xfe', '\xff'};
    std::string key;
    for (uint64_t length = rng->Below(6); length > 0; --length) {
      key.push_back(kBytes[rng->Below(sizeof kBytes)]);
    }
    return key;
  }

  void Change(Rng* rng, int operations) {
    for (int i = 0; i < operations; ++i) {
      const std::string key = RandomKey(rng);
      if (rng->OneIn(3)) {
        Delete(key);
      } else {
        const uint64_t length = rng->OneIn(200) ? rng->Below(100'000) : rng->Skewed(200) - 1;
        Put(key, std::string(length, static_cast<char>('a' + rng->Below(26))));
      }
    }
    if (rng->OneIn(5)) {
      const std::string from = RandomKey(rng);
      std::vector<std::string> keys;
      for (auto at = rows_.lower_bound(from); at != rows_.end() && keys.size() < 300; ++at) {
        keys.push_back(at->first);
      }
      for (const std::string& key : keys) Delete(key);
    }
    if (rng->OneIn(3)) {
      ASSERT_TRUE(IsOk(store_->Flush()));
    }
    if (rng->OneIn(8)) {
      ASSERT_TRUE(IsOk(store_->Compact()));
    }
    if (rng->OneIn(15)) Reopen();
  }
};

TEST_F(RandomIteratorTest, AgreesWithAMap) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    std::string directory = "/store";
    store_.reset();
    ASSERT_TRUE(IsOk(Store::Destroy(options_, directory)) || seed == 1);
    rows_.clear();
    options_.chunk_size = rng.Pick({4 << 10, 4 << 10, 32 << 10});
    options_.block_size = rng.Pick({256, 1024, 4096});
    options_.munk_cache_size = rng.Pick({uint64_t{0}, uint64_t{256} << 10, Options::kAdaptive});
    options_.log_lookup = rng.Pick({LogLookup::kIndex, LogLookup::kBloom});
    Open();
    const auto random_key = [&rng] { return RandomKey(&rng); };
    for (int round = 0; round < 8; ++round) {
      ASSERT_NO_FATAL_FAILURE(Change(&rng, 400));
      const Rows rows = rows_;
      const auto iterator = store_->NewIterator({nullptr, rng.OneIn(2)});
      ASSERT_NO_FATAL_FAILURE(RandomMoves(&rng, iterator.get(), rows, 150, random_key));
      for (int i = 0; i < 15; ++i) {
        const std::string start = RandomKey(&rng), end = RandomKey(&rng);
        ScanOptions options;
        options.start = start;
        options.end = end;
        options.reverse = rng.OneIn(2);
        options.limit = rng.OneIn(2) ? rng.Skewed(100) : 0;
        ASSERT_NO_FATAL_FAILURE(ExpectRange(rows_, options, rng.OneIn(8)));
      }
      for (int i = 0; i < 50; ++i) {
        ASSERT_TRUE(IsOk(store_->Put(RandomKey(&rng), "later")));
      }
      ASSERT_NO_FATAL_FAILURE(RandomMoves(&rng, iterator.get(), rows, 150, random_key));
      rows_ = ScanAll();
    }
    ASSERT_NO_FATAL_FAILURE(ExpectWalks(rows_));
  }
}

}  // namespace
}  // namespace chunkstore
