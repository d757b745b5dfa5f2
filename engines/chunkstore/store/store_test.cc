// Reads and writes: each sentence of the public interface.
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "store/store_fixture.h"

namespace chunkstore {
namespace {

class ReadWriteTest : public StoreTest {
 protected:
  void SetUp() override { Open(); }
};

TEST_F(ReadWriteTest, PutsOverwriteAndDeletesRemove) {
  EXPECT_EQ(Get("a"), "not found");
  Put("a", "1");
  EXPECT_EQ(Get("a"), "1");
  Put("a", "2");
  EXPECT_EQ(Get("a"), "2");
  Delete("a");
  EXPECT_EQ(Get("a"), "not found");
  EXPECT_TRUE(IsOk(store_->Delete("a"))) << "of an absent key: Ok";
  EXPECT_TRUE(IsOk(store_->Delete("never there")));
  Put("a", "3");
  EXPECT_EQ(Get("a"), "3");
}

TEST_F(ReadWriteTest, KeyAndValueMayBeEmpty) {
  Put("", "of the empty key");
  Put("empty value", "");
  Put(std::string(3, '\0'), std::string(5, '\0'));
  for (const bool flushed : {false, true}) {
    if (flushed) {
      ASSERT_TRUE(IsOk(store_->Compact()));
    }
    EXPECT_EQ(Get({}), "of the empty key");
    EXPECT_EQ(Get("empty value"), "");
    EXPECT_EQ(Get(std::string(3, '\0')), std::string(5, '\0'));
    EXPECT_EQ(Get(std::string(2, '\0')), "not found");
    ExpectAll();
  }
  Delete("");
  EXPECT_EQ(Get({}), "not found");
  Reopen();
  ExpectAll();
}

TEST_F(ReadWriteTest, TheLargestKeys) {
  const std::string longest(kMaxKeyBytes, 'k');
  Put(longest, "1");
  Put(longest.substr(1), "2");
  ExpectAll();
  for (const Status& status : {store_->Put(longest + "k", "3"), store_->Delete(longest + "k")}) {
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_NE(status.message().find("key: expected at most 65536 bytes, got 65537"),
              std::string::npos)
        << status.ToString();
  }
  WriteBatch batch;
  batch.Put("a", "1");
  batch.Delete(longest + "k");
  EXPECT_EQ(store_->Write(batch).code(), Code::kInvalidArgument);
  EXPECT_EQ(Get("a"), "not found") << "all or nothing";
  EXPECT_EQ(Get(longest + "k"), "not found") << "no put can have succeeded";
  ASSERT_TRUE(IsOk(store_->Compact()));
  Reopen();
  ExpectAll();
}

TEST_F(ReadWriteTest, ValuesLargerThanAStage) {
  for (const size_t length : {size_t{60} << 10, size_t{70} << 10, size_t{3} << 20}) {
    Put(std::to_string(length), std::string(length, 'v'));
  }
  ExpectAll();
  Die(Loss::kKeepAll);
  Open();
  ExpectAll();
  ASSERT_TRUE(IsOk(store_->Compact()));
  Reopen();
  ExpectAll();
}

TEST_F(ReadWriteTest, RefusesValuesBeyondTheLimit) {
  // Address space only: the value must be refused before it is read.
  constexpr size_t kLength = kMaxValueBytes + 1;
  void* pages =
      ::mmap(nullptr, kLength, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  const Status status = store_->Put("a", {static_cast<const char*>(pages), kLength});
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("value: expected at most 268435456 bytes, got 268435457"),
            std::string::npos)
      << status.ToString();
  ::munmap(pages, kLength);
  EXPECT_EQ(Get("a"), "not found");
}

TEST_F(ReadWriteTest, InABatchLaterOperationsWin) {
  WriteBatch batch;
  EXPECT_TRUE(IsOk(store_->Write(batch))) << "an empty batch does nothing";
  batch.Put("a", "1");
  batch.Delete("a");
  batch.Put("a", "2");
  batch.Put("b", "1");
  batch.Delete("b");
  batch.Delete("c");
  EXPECT_EQ(batch.count(), 6U);
  EXPECT_GT(batch.bytes(), 0U);
  Put("c", "0");
  ASSERT_TRUE(IsOk(store_->Write(batch)));
  for (const bool flushed : {false, true}) {
    if (flushed) {
      ASSERT_TRUE(IsOk(store_->Flush()));
    }
    EXPECT_EQ(Get("a"), "2");
    EXPECT_EQ(Get("b"), "not found");
    EXPECT_EQ(Get("c"), "not found");
  }
  Put("c", "1");
  ASSERT_TRUE(IsOk(store_->Write(batch))) << "a batch may be written again";
  EXPECT_EQ(Get("c"), "not found");
  batch.Clear();
  EXPECT_EQ(batch.count(), 0U);
  EXPECT_EQ(batch.bytes(), 0U);
  batch.Put("d", "4");
  ASSERT_TRUE(IsOk(store_->Write(batch)));
  EXPECT_EQ(Get("d"), "4");
}

TEST_F(ReadWriteTest, ABatchLargerThanAStageIsOneWrite) {
  WriteBatch batch;
  for (int i = 0; i < 3000; ++i) {
    batch.Put(KeyOf(i), std::string(100, 'b'));
    rows_[KeyOf(i)] = std::string(100, 'b');
  }
  ASSERT_TRUE(IsOk(store_->Write(batch)));
  ExpectAll();
  Die(Loss::kKeepAll);
  Open();
  EXPECT_EQ(store_->recovery().recovered_records, 1U);
  ExpectAll();
  ASSERT_TRUE(IsOk(store_->Flush()));
  ExpectAll();
}

TEST_F(ReadWriteTest, MultiGetAnswersEachKey) {
  PutMany(0, 600, 50);
  ASSERT_TRUE(IsOk(store_->Flush()));
  Put(KeyOf(3), "new");
  Delete(KeyOf(4));
  Put("", "empty");
  const auto snapshot = store_->GetSnapshot();
  Put(KeyOf(5), "later");
  Delete(KeyOf(3));
  const std::vector<std::string> names = {KeyOf(3), "absent", KeyOf(4),  KeyOf(5),
                                          "",       KeyOf(3), KeyOf(599)};
  const std::vector<std::string_view> keys(names.begin(), names.end());
  std::vector<std::string> values(99, "stale");
  std::vector<Status> statuses(99, Status::Internal("stale"));
  const Snapshot* const moments[] = {nullptr, snapshot.get()};
  for (const Snapshot* at : moments) {
    store_->MultiGet({at}, keys, &values, &statuses);
    ASSERT_EQ(values.size(), keys.size());
    ASSERT_EQ(statuses.size(), keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      const std::string expected = Get(keys[i], at);
      EXPECT_EQ(statuses[i].ok() ? values[i] : "not found", expected) << keys[i];
      EXPECT_TRUE(statuses[i].ok() || statuses[i].not_found());
    }
  }
  EXPECT_EQ(values[0], "new");
  EXPECT_EQ(values[5], "new");
  store_->MultiGet({}, {}, &values, &statuses);
  EXPECT_TRUE(values.empty() && statuses.empty());
}

TEST_F(ReadWriteTest, ScansTakeRangeLimitAndDirection) {
  PutMany(0, 400, 50);
  ASSERT_TRUE(IsOk(store_->Compact()));
  PutMany(400, 500, 50);
  const auto scan = [this](const ScanOptions& options, size_t stop_after = SIZE_MAX) {
    std::vector<std::string> keys;
    EXPECT_TRUE(IsOk(store_->Scan(options, [&](std::string_view key, std::string_view value) {
      EXPECT_EQ(value, rows_[std::string(key)]);
      keys.emplace_back(key);
      return keys.size() < stop_after;
    })));
    return keys;
  };
  const std::string start = KeyOf(100), end = KeyOf(450);
  ScanOptions options;
  EXPECT_EQ(scan(options).size(), 500U);
  options.start = start;
  options.end = end;
  EXPECT_EQ(scan(options).size(), 350U);
  EXPECT_EQ(scan(options).front(), KeyOf(100)) << "inclusive";
  EXPECT_EQ(scan(options).back(), KeyOf(449)) << "exclusive";
  EXPECT_EQ(scan(options, 3).size(), 3U) << "until the function returns false";
  options.limit = 7;
  EXPECT_EQ(scan(options).back(), KeyOf(106));
  options.reverse = true;
  EXPECT_EQ(scan(options).size(), 7U);
  EXPECT_EQ(scan(options).front(), KeyOf(449));
  EXPECT_EQ(scan(options).back(), KeyOf(443));
  options.limit = 0;
  EXPECT_EQ(scan(options).size(), 350U);
  EXPECT_EQ(scan(options).back(), KeyOf(100));
  options.end = options.start;
  EXPECT_TRUE(scan(options).empty());
  options.start = end;
  for (const bool reverse : {false, true}) {
    options.reverse = reverse;
    EXPECT_TRUE(scan(options).empty()) << "the range ends before it begins";
  }
}

TEST_F(ReadWriteTest, SnapshotsStayAsTheyAre) {
  PutMany(0, 1500, 60);
  const Rows first = rows_;
  const auto at_first = store_->GetSnapshot();
  PutMany(500, 2500, 70, 'w');
  for (int i = 0; i < 500; i += 2) Delete(KeyOf(i));
  const Rows second = rows_;
  const auto at_second = store_->GetSnapshot();
  EXPECT_GT(at_second->version(), at_first->version());
  EXPECT_EQ(Stat("snapshots"), 2);
  const auto expect_both = [&] {
    ExpectRows(first, at_first.get());
    ExpectRows(second, at_second.get());
    ExpectAll();
    EXPECT_EQ(Get(KeyOf(2000), at_first.get()), "not found") << "not yet";
  };
  expect_both();
  ASSERT_TRUE(IsOk(store_->Flush()));
  expect_both();
  ASSERT_TRUE(IsOk(store_->Compact()));
  EXPECT_GT(Stat("splits") + Stat("adoptions"), 0);
  expect_both();
  for (int i = 0; i < 2500; ++i) {
    if (i % 100 != 0) Delete(KeyOf(i));
  }
  ASSERT_TRUE(IsOk(store_->Flush()));
  expect_both();
  ASSERT_TRUE(IsOk(store_->Compact()));
  expect_both();
  for (int i = 0; i < 50; ++i) Get(KeyOf(i * 10));  // warm for munks and caches
  ASSERT_TRUE(IsOk(store_->Flush()));
  expect_both();
}

TEST_F(ReadWriteTest, AReleasedSnapshotFreesItsSpaceAndChunks) {
  PutMany(0, 2000, 100);
  auto snapshot = store_->GetSnapshot();
  for (int i = 0; i < 2000; ++i) Delete(KeyOf(i));
  ASSERT_TRUE(IsOk(store_->Compact()));
  ASSERT_TRUE(IsOk(store_->Flush()));
  const double held = Stat("live_bytes");
  const double chunks = Stat("chunks");
  EXPECT_GT(held, 200'000);
  snapshot.reset();
  EXPECT_EQ(Stat("snapshots"), 0);
  ASSERT_TRUE(IsOk(store_->Compact()));
  EXPECT_EQ(Stat("live_bytes"), 0);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(IsOk(store_->Flush()));
  EXPECT_LT(Stat("chunks"), chunks / 4);
  EXPECT_GT(Stat("merges"), 0);
  ExpectAll();
}

// Rows of later chunks are read after the destructor was called.
TEST_F(ReadWriteTest, TheDestructorWaitsForAScan) {
  PutMany(0, 2000, 100);
  ASSERT_TRUE(IsOk(store_->Compact()));
  ASSERT_GT(Stat("chunks"), 5);
  std::atomic<bool> inside{false};
  size_t rows = 0;
  std::thread scan([&] {
    const Status status = store_->Scan({}, [&](std::string_view, std::string_view) {
      if (++rows == 1) {
        inside = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
      return true;
    });
    EXPECT_TRUE(IsOk(status));
  });
  while (!inside) std::this_thread::yield();
  store_.reset();
  EXPECT_EQ(rows, rows_.size());
  scan.join();
}

TEST_F(ReadWriteTest, CallsThatMeetACloseEndOrAreRefused) {
  PutMany(0, 1000, 100);
  ASSERT_TRUE(IsOk(store_->Compact()));
  const auto refused = [](const Status& status) {
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.ToString();
  };
  std::vector<std::thread> threads;
  std::atomic<int> going{0};
  const auto repeat = [&](std::function<Status()> call) {
    threads.emplace_back([&going, refused, call = std::move(call)] {
      Status status = call();
      ++going;
      while (status.ok()) status = call();
      refused(status);
    });
  };
  const std::string last = rows_.rbegin()->first;
  repeat([&] {
    std::string value;
    return store_->Get(last, &value);
  });
  repeat([&] { return store_->Put(last, "new"); });
  repeat([&] { return store_->Scan({}, [](std::string_view, std::string_view) { return true; }); });
  repeat([&] {
    std::vector<std::string> values;
    std::vector<Status> statuses;
    store_->MultiGet({}, std::vector<std::string_view>(20, last), &values, &statuses);
    for (const Status& status : statuses) EXPECT_EQ(status.code(), statuses[0].code());
    return statuses[0];
  });
  repeat([&] {
    const auto iterator = store_->NewIterator({});
    for (iterator->SeekToFirst(); iterator->Valid();) iterator->Next();
    return iterator->status();
  });
  repeat([&] { return store_->Flush(); });
  while (going < 6) std::this_thread::yield();
  EXPECT_TRUE(IsOk(store_->Close()));
  for (std::thread& thread : threads) thread.join();
  rows_[last] = "new";
  Open();
  ExpectAll();
}

TEST_F(ReadWriteTest, AnIteratorKeepsItsMomentWithoutItsSnapshot) {
  PutMany(0, 2000, 100);
  const Rows before = rows_;
  auto snapshot = store_->GetSnapshot();
  const auto iterator = store_->NewIterator({snapshot.get()});
  iterator->SeekToFirst();
  snapshot.reset();
  for (int i = 0; i < 2000; ++i) Delete(KeyOf(i));
  ASSERT_TRUE(IsOk(store_->Compact()));
  Rows found;
  for (; iterator->Valid(); iterator->Next()) found.emplace(iterator->key(), iterator->value());
  EXPECT_TRUE(IsOk(iterator->status()));
  EXPECT_TRUE(found == before);
}

// Any thread may call anything; what is left is what was written.
TEST_F(ReadWriteTest, ManyThreadsWithBackgroundWork) {
  options_.background_threads = 2;
  Reopen();
  constexpr int kThreads = 4, kKeys = 1500;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      for (int i = t; i < kKeys; i += kThreads) {
        EXPECT_TRUE(IsOk(store_->Put(KeyOf(i), std::string(100, static_cast<char>('a' + t)))));
        if (i % 5 == 0) {
          EXPECT_TRUE(IsOk(store_->Delete(KeyOf(i))));
        }
        EXPECT_EQ(Get(KeyOf(i)).size(), i % 5 == 0 ? 9U : 100U);
        if (i % 200 == 0) {
          EXPECT_TRUE(IsOk(store_->Flush()));
        }
        if (i % 50 == 0) ScanAll();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kKeys; ++i) {
    if (i % 5 != 0) rows_[KeyOf(i)] = std::string(100, static_cast<char>('a' + i % kThreads));
  }
  ExpectAll();
  Reopen();
  ExpectAll();
}

}  // namespace
}  // namespace chunkstore
