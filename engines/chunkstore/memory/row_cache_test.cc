#include "memory/row_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "kvdyno/base/hash.h"
#include "kvdyno/base/testing/process.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;  // the resident set is not the program's own
#else
constexpr bool kSanitized = false;
#endif

namespace chunkstore {
namespace {

using kvdyno::Hash64;
using kvdyno::testing::ResidentBytes;

struct Found {
  std::string value;
  EntryType type = EntryType::kValue;
  Version version = 0;
};

// Not by operator+, in which GCC 12 sees an overlap.
std::string Key(const char* prefix, uint64_t number) {
  std::string key(prefix);
  key.append(std::to_string(number));
  return key;
}

std::optional<Found> Lookup(RowCache* cache, const std::string& key) {
  Found found;
  if (!cache->Lookup(key, Hash64(key), &found.value, &found.type, &found.version)) return {};
  return found;
}

void Insert(RowCache* cache, const std::string& key, const std::string& value, Version version) {
  const uint64_t hash = Hash64(key);
  cache->Insert(key, hash, {key, value, version, EntryType::kValue}, cache->Stamp(hash));
}

void Refresh(RowCache* cache, const std::string& key, const std::string& value, Version version,
             EntryType type = EntryType::kValue) {
  cache->Refresh(key, Hash64(key), {key, value, version, type});
}

TEST(RowCache, ReturnsWhatWasInserted) {
  RowCache cache(1 << 20);
  EXPECT_FALSE(Lookup(&cache, "a"));
  Insert(&cache, "a", "one", 7);
  Insert(&cache, "", "empty key", 8);
  Insert(&cache, "empty value", "", 9);
  const auto found = Lookup(&cache, "a");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->value, "one");
  EXPECT_EQ(found->version, 7u);
  EXPECT_EQ(Lookup(&cache, "")->value, "empty key");
  EXPECT_EQ(Lookup(&cache, "empty value")->value, "");
  const auto counts = cache.counts();
  EXPECT_EQ(counts.hits, 3u);
  EXPECT_EQ(counts.misses, 1u);
  EXPECT_EQ(counts.inserts, 3u);
}

TEST(RowCache, RefreshReplacesButNeverAdds) {
  RowCache cache(1 << 20);
  Refresh(&cache, "a", "x", 3);
  EXPECT_FALSE(Lookup(&cache, "a"));
  Insert(&cache, "a", "1234", 4);
  Refresh(&cache, "a", "12", 5);
  EXPECT_EQ(Lookup(&cache, "a")->value, "12");
  Refresh(&cache, "a", std::string(1000, 'y'), 6);  // does not fit where the old one is
  EXPECT_EQ(Lookup(&cache, "a")->value, std::string(1000, 'y'));
  Refresh(&cache, "a", "old", 5);
  EXPECT_EQ(Lookup(&cache, "a")->version, 6u);
  Refresh(&cache, "a", "", 8, EntryType::kDeletion);
  EXPECT_EQ(Lookup(&cache, "a")->type, EntryType::kDeletion);
  EXPECT_EQ(Lookup(&cache, "a")->value, "");
  Insert(&cache, "a", "older than what is cached", 7);
  EXPECT_EQ(Lookup(&cache, "a")->version, 8u);
  Refresh(&cache, "a", std::string(1 << 20, 'z'), 9);  // too large to cache
  EXPECT_FALSE(Lookup(&cache, "a"));
}

TEST(RowCache, RefusesWhatAFlushHasOvertaken) {
  RowCache cache(1 << 20);
  const uint64_t hash = Hash64("a");
  const uint64_t stamp = cache.Stamp(hash);
  Refresh(&cache, "a", "new", 2);  // while the reader is on its way to the disk
  cache.Insert("a", hash, {"a", "old", 1, EntryType::kValue}, stamp);
  EXPECT_FALSE(Lookup(&cache, "a"));
  EXPECT_EQ(cache.counts().refused, 1u);
  Insert(&cache, "a", "new", 2);
  EXPECT_EQ(Lookup(&cache, "a")->value, "new");
}

TEST(RowCache, CapacityZeroCachesNothing) {
  RowCache cache(0);
  const size_t empty = cache.memory();
  Insert(&cache, "a", "1", 1);
  Refresh(&cache, "a", "2", 2);
  EXPECT_FALSE(Lookup(&cache, "a"));
  EXPECT_EQ(cache.memory(), empty);
  EXPECT_LE(empty, 64u << 10);
  cache.SetCapacity(8 << 20);
  Insert(&cache, "a", "1", 1);
  EXPECT_TRUE(Lookup(&cache, "a"));
}

TEST(RowCache, RowsInUseStay) {
  RowCache cache(1 << 20);
  for (uint64_t i = 0; i < 100; ++i) Insert(&cache, Key("hot", i), std::string(200, 'h'), 1);
  for (uint64_t i = 0; i < 50'000; ++i) {
    Insert(&cache, Key("cold", i), std::string(200, 'c'), 1);
    if (i % 500 != 0) continue;
    for (uint64_t k = 0; k < 100; ++k) {
      const auto found = Lookup(&cache, Key("hot", k));
      ASSERT_TRUE(found) << i;
      ASSERT_EQ(found->value, std::string(200, 'h'));
    }
  }
  EXPECT_GT(cache.counts().drops, 40'000u);
  EXPECT_FALSE(Lookup(&cache, "cold0"));
}

// No place is lost to what was moved or replaced: all that was read fits, and stays.
TEST(RowCache, HoldsAsManyRowsAsFit) {
  RowCache cache(4 << 20);
  constexpr uint64_t kRows = (4 << 20) * 9 / 10 / (24 + 8 + 400 + 11);
  std::mt19937 random(1);
  for (uint64_t i = 0; i < 20 * kRows; ++i) {
    const std::string key = Key("k", random() % kRows);
    if (!Lookup(&cache, key)) Insert(&cache, key, std::string(400, 'v'), 1);
  }
  const uint64_t before = cache.counts().misses;
  for (uint64_t i = 0; i < kRows; ++i) EXPECT_TRUE(Lookup(&cache, Key("k", i)));
  EXPECT_EQ(cache.counts().misses, before);
}

TEST(RowCache, LargeRowsAreNotCached) {
  RowCache cache(1 << 20);
  Insert(&cache, "a", std::string(200 << 10, 'x'), 1);
  EXPECT_FALSE(Lookup(&cache, "a"));
  Insert(&cache, "a", std::string(10 << 10, 'x'), 1);
  EXPECT_TRUE(Lookup(&cache, "a"));
}

TEST(RowCache, MemoryFollowsTheResidentSet) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer's own memory is in the way";
  constexpr size_t kCapacity = 48 << 20;
  for (const size_t size : {20, 800, 4000}) {
    const auto before = static_cast<double>(ResidentBytes());
    RowCache cache(kCapacity);
    const auto check = [&](const char* when) {
      const double resident = static_cast<double>(ResidentBytes()) - before;
      EXPECT_NEAR(static_cast<double>(cache.memory()), resident, 0.04 * resident + 1e6)
          << when << ", rows of " << size;
    };
    const std::string value(size, 'v');
    const size_t rows = 2 * kCapacity / (size + 50);
    for (size_t i = 0; i < rows; ++i) {
      Insert(&cache, Key("key", i), value, 1);
      if (i == rows / 4) check("while filling");
    }
    check("full");
    EXPECT_LE(cache.memory(), kCapacity + kCapacity / 20);
    EXPECT_GE(cache.memory(), kCapacity / 2);
    cache.SetCapacity(kCapacity / 4);
    EXPECT_LE(cache.memory(), kCapacity / 4 + kCapacity / 40);
    check("after shrinking");
    cache.SetCapacity(0);
    check("after emptying");
  }
}

TEST(RowCache, GhostsShowWhatTwiceTheSizeWouldServe) {
  constexpr size_t kCapacity = 4 << 20;
  RowCache cache(kCapacity);
  const auto read = [&cache](const std::string& key) {
    if (!Lookup(&cache, key)) Insert(&cache, key, std::string(400, 'v'), 1);
  };
  const uint64_t held = kCapacity / 450;
  for (int round = 0; round < 6; ++round) {
    for (uint64_t i = 0; i < held * 8 / 5; ++i) read(Key("a", i));
  }
  const auto counts = cache.counts();
  EXPECT_GT(counts.ghost_hits * 10, counts.misses * 6);
  for (int round = 0; round < 3; ++round) {
    for (uint64_t i = 0; i < held * 10; ++i) read(Key("b", i));
  }
  const auto later = cache.counts();
  EXPECT_LT((later.ghost_hits - counts.ghost_hits) * 20, later.misses - counts.misses);
}

// Every row the cache returns must be the newest "flushed" one.
TEST(RowCache, RandomOperationsAgreeWithAModel) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  RowCache cache(300 << 10);
  std::map<std::string, Found> model;
  Version version = 0;
  uint64_t hits = 0;
  uint64_t resized = 0;
  for (uint64_t i = 0; i < 200'000; ++i) {
    const std::string key = Key("key", random() % 3000);
    const uint32_t what = random() % 100;
    Found& newest = model[key];
    if (what < 20) {
      newest = {std::string(random() % 300, static_cast<char>('a' + random() % 26)),
                random() % 5 == 0 ? EntryType::kDeletion : EntryType::kValue, ++version};
      if (newest.type == EntryType::kDeletion) newest.value.clear();
      Refresh(&cache, key, newest.value, newest.version, newest.type);
    } else if (const auto found = Lookup(&cache, key)) {
      ++hits;
      ASSERT_EQ(found->value, newest.value);
      ASSERT_EQ(found->version, newest.version);
      ASSERT_EQ(found->type, newest.type);
    } else {
      const uint64_t hash = Hash64(key);
      cache.Insert(key, hash, {key, newest.value, newest.version, newest.type}, cache.Stamp(hash));
    }
    if (random() % 3000 == 0) {
      cache.SetCapacity(random() % (600 << 10));
      resized = i;
    }
    // A smaller capacity is kept once later rows have pushed the earlier ones out. Rows that are
    // too large for it push nothing: then the ghosts of the larger capacity stay, below 128 KiB
    // here.
    if (i % 100 == 0 && i - resized >= 1000) {
      const size_t capacity = cache.capacity();
      ASSERT_LE(cache.memory(), capacity + capacity / 4 + (128 << 10));
    }
  }
  EXPECT_GT(hits, 20'000u);
}

// Readers go to a "disk" without locks while a flusher overtakes them; what is cached must never be
// older than the flush that has returned before the lookup.
TEST(RowCache, NeverStaleWithManyThreads) {
  constexpr uint64_t kKeys = 64;
  RowCache cache(64 << 10);
  std::vector<std::atomic<Version>> disk(kKeys), flushed(kKeys);
  std::atomic<bool> done{false};
  std::atomic<uint64_t> stale{0}, wrong{0};
  const auto value_of = [](Version version) {
    return std::string(100 + version % 200, static_cast<char>('a' + version % 26));
  };
  std::vector<std::thread> readers;
  for (uint32_t t = 0; t < 3; ++t) {
    readers.emplace_back([&, t] {
      std::minstd_rand random(t + 1);
      std::string value;
      while (!done.load()) {
        const uint64_t k = random() % kKeys;
        const std::string key = Key("key", k);
        const uint64_t hash = Hash64(key);
        const Version at_least = flushed[k].load();
        const uint64_t stamp = cache.Stamp(hash);
        EntryType type;
        Version version = 0;
        if (cache.Lookup(key, hash, &value, &type, &version)) {
          if (version < at_least) stale.fetch_add(1);
          if (value != value_of(version)) wrong.fetch_add(1);
        } else {
          version = disk[k].load();
          const std::string read = value_of(version);
          if (random() % 8 == 0) std::this_thread::yield();
          cache.Insert(key, hash, {key, read, version, EntryType::kValue}, stamp);
        }
        if (t == 0 && random() % 2000 == 0) cache.SetCapacity(random() % (64 << 10));
      }
    });
  }
  std::minstd_rand random(99);
  for (Version version = 1; version <= 20'000; ++version) {
    const uint64_t k = random() % kKeys;
    disk[k].store(version);
    Refresh(&cache, Key("key", k), value_of(version), version);
    flushed[k].store(version);
  }
  done.store(true);
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(stale.load(), 0u);
  EXPECT_EQ(wrong.load(), 0u);
}

}  // namespace
}  // namespace chunkstore
