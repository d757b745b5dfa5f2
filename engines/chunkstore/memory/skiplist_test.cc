#include "memory/skiplist.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace chunkstore {
namespace {

std::string Key(uint64_t i) {
  std::string digits = std::to_string(i);
  return "key" + std::string(11 - digits.size(), '0') + digits;
}

// Keys that differ only behind their eighth byte, in their length, or in zeros and high bytes.
std::string AwkwardKey(std::mt19937_64* random) {
  static constexpr char kBytes[] = {'\0', '\x01', 'a', '\x7f', '\x80', '\xff'};
  std::string key((*random)() % 3 == 0 ? "12345678" : "");
  for (uint64_t n = (*random)() % 5; n > 0; --n) key.push_back(kBytes[(*random)() % 6]);
  return key;
}

TEST(SkipList, EmptyList) {
  Arena arena;
  const SkipList list(&arena);
  Entry entry;
  EXPECT_TRUE(list.empty());
  EXPECT_FALSE(list.Lookup("", kNewest, &entry));
  SkipList::Cursor cursor(&list);
  EXPECT_FALSE(cursor.Valid());
  cursor.Seek("");
  EXPECT_FALSE(cursor.Valid());
}

TEST(SkipList, RefusesTheSameVersionTwice) {
  Arena arena;
  SkipList list(&arena);
  EXPECT_TRUE(list.Insert({"a", "1", 7, EntryType::kValue}));
  EXPECT_FALSE(list.Insert({"a", "2", 7, EntryType::kDeletion}));
  EXPECT_TRUE(list.Insert({"a", "3", 8, EntryType::kValue}));
  EXPECT_FALSE(list.Insert({"a", "4", 7, EntryType::kValue}));
  EXPECT_EQ(list.count(), 2u);
  Entry entry;
  ASSERT_TRUE(list.Lookup("a", 7, &entry));
  EXPECT_EQ(entry.value, "1");
}

TEST(SkipList, KeysAreCopiedValuesAreNot) {
  Arena arena;
  SkipList list(&arena);
  std::string key = "a long enough key", value = "x";
  list.Insert({key, value, 1, EntryType::kValue});
  key.assign(key.size(), '-');
  Entry entry;
  ASSERT_TRUE(list.Lookup("a long enough key", 1, &entry));
  EXPECT_EQ(entry.value.data(), value.data());
}

TEST(SkipList, AgreesWithAMap) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  Arena arena(256);
  SkipList list(&arena);
  std::map<std::pair<std::string, Version>, std::string> model;  // ~version: newest first
  for (Version v = 0; v < 20000; ++v) {
    const std::string key = AwkwardKey(&random);
    const Version version = random() % 4 == 0 ? v % 50 : MakeVersion(v % 3, v);
    const std::string_view value = arena.Copy(std::to_string(v));
    const bool added = model.emplace(std::pair(key, ~version), value).second;
    ASSERT_EQ(list.Insert({key, value, version, EntryType::kValue}), added);
    const std::string probe = AwkwardKey(&random);
    const Version at = random() % 2 == 0 ? kNewest : MakeVersion(random() % 3, random() % 20000);
    const auto expected = model.lower_bound({probe, ~at});
    Entry entry;
    const bool found = list.Lookup(probe, at, &entry);
    ASSERT_EQ(found, expected != model.end() && expected->first.first == probe);
    if (found) {
      ASSERT_EQ(entry.version, ~expected->first.second);
      ASSERT_EQ(entry.value, expected->second);
    }
  }
  ASSERT_EQ(list.count(), model.size());
  for (int i = 0; i < 50; ++i) {
    const std::string from = i == 0 ? "" : AwkwardKey(&random);
    SkipList::Cursor cursor(&list);
    cursor.Seek(from);
    for (auto at = model.lower_bound({from, 0}); at != model.end(); ++at, cursor.Next()) {
      ASSERT_TRUE(cursor.Valid());
      ASSERT_EQ(cursor.entry().key, at->first.first);
      ASSERT_EQ(cursor.entry().version, ~at->first.second);
      ASSERT_EQ(cursor.entry().value, at->second);
    }
    ASSERT_FALSE(cursor.Valid());
  }
}

// Words behind the shared prefix that are smallest, largest, equal or cut short; and what is asked
// for may lie beside everything with that prefix.
TEST(SkipList, KeysWithASharedPrefix) {
  Arena arena;
  const std::string shared = "user";
  SkipList list(&arena, shared);
  const std::vector<std::string> keys = {"user",
                                         std::string("user\0", 5),
                                         "user00000000",
                                         "user000000001",
                                         "user1",
                                         "user" + std::string(8, '\xff'),
                                         "user" + std::string(9, '\xff')};
  for (size_t i = 0; i < keys.size(); ++i) {
    list.Insert({keys[(i * 3) % keys.size()], "", 1, EntryType::kValue});
  }
  const auto seek = [&list](std::string_view from) {
    SkipList::Cursor cursor(&list);
    cursor.Seek(from);
    return cursor.Valid() ? std::string(cursor.entry().key) : "none";
  };
  Entry entry;
  for (size_t i = 0; i < keys.size(); ++i) {
    EXPECT_TRUE(list.Lookup(keys[i], kNewest, &entry)) << i;
    EXPECT_EQ(seek(keys[i]), keys[i]);
    EXPECT_EQ(seek(keys[i] + '\0'), i + 1 < keys.size() ? keys[i + 1] : "none");
  }
  for (const char* before : {"", "u", "use", "a", "usea"}) EXPECT_EQ(seek(before), keys.front());
  for (const char* behind : {"usf", "v", "\xff\xff\xff\xff\xff"}) EXPECT_EQ(seek(behind), "none");
  EXPECT_FALSE(list.Lookup("use", kNewest, &entry));
  EXPECT_FALSE(list.Lookup("v", kNewest, &entry));
}

TEST(SkipList, OrderedInsertion) {
  for (const bool ascending : {true, false}) {
    Arena arena;
    SkipList list(&arena);
    constexpr uint64_t kEntries = 3000;
    for (uint64_t i = 0; i < kEntries; ++i) {
      ASSERT_TRUE(
          list.Insert({Key(ascending ? i : kEntries - 1 - i), "", i + 1, EntryType::kDeletion}));
    }
    SkipList::Cursor cursor(&list);
    cursor.Seek("");
    for (uint64_t i = 0; i < kEntries; ++i, cursor.Next()) {
      ASSERT_TRUE(cursor.Valid());
      ASSERT_EQ(cursor.entry().key, Key(i));
      ASSERT_EQ(cursor.entry().type, EntryType::kDeletion);
    }
    ASSERT_FALSE(cursor.Valid());
  }
}

// Threads insert overlapping keys (each version offered twice) while readers check that what they
// see is ordered, whole, and never goes away.
TEST(SkipList, ConcurrentInsertion) {
  constexpr int kWriters = 3;
  constexpr uint64_t kKeys = 3000;
  Arena arena;
  SkipList list(&arena);
  std::atomic<int> writing{kWriters};
  std::atomic<uint64_t> added{0};
  std::vector<std::thread> threads;
  for (int w = 0; w < kWriters; ++w) {
    threads.emplace_back([&, w] {
      uint64_t mine = 0;
      for (uint64_t i = 0; i < kKeys; ++i) {
        const uint64_t k = w == 0 ? i : (w == 1 ? kKeys - 1 - i : i * 7 % kKeys);
        const std::string_view value = arena.Copy(Key(k));
        for (const Version version : {Version{1}, static_cast<Version>(2 + w)}) {
          mine += list.Insert({Key(k), value, version, EntryType::kValue}) ? 1 : 0;
        }
      }
      added += mine;
      --writing;
    });
  }
  for (int r = 0; r < 2; ++r) {
    threads.emplace_back([&] {
      size_t before = 0;
      while (writing.load() > 0) {
        size_t seen = 0;
        std::string last;
        Version last_version = 0;
        SkipList::Cursor cursor(&list);
        for (cursor.Seek(""); cursor.Valid(); cursor.Next(), ++seen) {
          const Entry& entry = cursor.entry();
          ASSERT_TRUE(seen == 0 || Compare(last, last_version, entry.key, entry.version) < 0);
          ASSERT_EQ(entry.value, entry.key);
          last = entry.key;
          last_version = entry.version;
        }
        ASSERT_GE(seen, before);
        before = seen;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(added.load(), kKeys * (1 + kWriters));
  EXPECT_EQ(list.count(), added.load());
  Entry entry;
  for (uint64_t k = 0; k < kKeys; ++k) {
    ASSERT_TRUE(list.Lookup(Key(k), 1, &entry));
    ASSERT_TRUE(list.Lookup(Key(k), kNewest, &entry));
    ASSERT_EQ(entry.version, Version{1 + kWriters});
  }
}

}  // namespace
}  // namespace chunkstore
