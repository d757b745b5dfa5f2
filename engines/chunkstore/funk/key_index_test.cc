#include "funk/key_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace chunkstore::testing {
namespace {

// Short keys over few letters: many share bytes, are prefixes of others, or have several versions.
std::vector<SortedRunKey> RandomKeys(std::mt19937_64* random, size_t count, Version first) {
  std::set<std::pair<std::string, Version>> chosen;
  while (chosen.size() < count) {
    std::string key((*random)() % 6, 'a');
    for (char& c : key) c = static_cast<char>("ab\x00\xff"[(*random)() % 4]);
    chosen.emplace(std::move(key), first + (*random)() % 1000);
  }
  std::vector<SortedRunKey> keys;
  for (const auto& [key, version] : chosen) {
    keys.push_back({key, version, {(*random)() % 100000, static_cast<uint32_t>(version)}, 0});
  }
  std::sort(keys.begin(), keys.end(), [](const SortedRunKey& a, const SortedRunKey& b) {
    return Compare(a.key, a.version, b.key, b.version) < 0;
  });
  return keys;
}

void ExpectEqual(const std::vector<SortedRunKey>& keys, const KeyIndex& index,
                 std::mt19937_64* random) {
  ASSERT_EQ(index.size(), keys.size());
  KeyIndex::Cursor cursor(&index);
  cursor.SeekToFirst();
  for (const SortedRunKey& key : keys) {
    ASSERT_TRUE(cursor.Valid());
    ASSERT_EQ(cursor.key(), key.key);
    ASSERT_EQ(cursor.item().version, key.version);
    ASSERT_EQ(cursor.item().block, key.block);
    ASSERT_EQ(cursor.item().run, key.run);
    cursor.Next();
  }
  ASSERT_FALSE(cursor.Valid());
  for (int i = 0; i < 2000; ++i) {
    const SortedRunKey wanted =
        i < 1000 ? RandomKeys(random, 1, 0).front() : keys[(*random)() % keys.size()];
    const Version version = i % 3 == 0 ? kNewest : wanted.version - i % 2;
    const auto at = std::partition_point(keys.begin(), keys.end(), [&](const SortedRunKey& key) {
      return Compare(key.key, key.version, wanted.key, version) < 0;
    });
    cursor.Seek(wanted.key, version);
    ASSERT_EQ(cursor.Valid(), at != keys.end());
    if (cursor.Valid()) {
      ASSERT_EQ(cursor.key(), at->key);
      ASSERT_EQ(cursor.item().version, at->version);
    }
    KeyIndex::Item item;
    const bool expected = at != keys.end() && at->key == wanted.key;
    ASSERT_EQ(index.Find(wanted.key, version, &item), expected);
    if (expected) {
      ASSERT_EQ(item.version, at->version);
      ASSERT_EQ(item.block, at->block);
    }
  }
}

TEST(KeyIndexTest, FindsWhatASortedListDoes) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (const size_t count : {1, 7, 8, 9, 64, 500}) {
    std::vector<SortedRunKey> older = RandomKeys(&random, count, 1);
    ExpectEqual(older, KeyIndex(older, 0), &random);
    std::vector<SortedRunKey> newer = RandomKeys(&random, 20, 5000);
    std::vector<SortedRunKey> newest = RandomKeys(&random, 9, 9000);
    const std::vector<std::shared_ptr<const KeyIndex>> parts = {
        std::make_shared<KeyIndex>(older, 0), std::make_shared<KeyIndex>(newer, 3),
        std::make_shared<KeyIndex>(newest, 4)};
    ASSERT_TRUE(KeyIndex::CanMerge(parts));
    const KeyIndex merged(parts);
    for (SortedRunKey& key : newer) key.run = 3;
    for (SortedRunKey& key : newest) key.run = 4;
    older.insert(older.end(), newer.begin(), newer.end());
    older.insert(older.end(), newest.begin(), newest.end());
    std::sort(older.begin(), older.end(), [](const SortedRunKey& a, const SortedRunKey& b) {
      return Compare(a.key, a.version, b.key, b.version) < 0;
    });
    ExpectEqual(older, merged, &random);
    std::string bytes;
    merged.Encode(&bytes);
    const auto decoded = KeyIndex::Decode(bytes, 5);
    ASSERT_NE(decoded, nullptr);
    ExpectEqual(older, *decoded, &random);
    EXPECT_EQ(KeyIndex::Decode(bytes, 4), nullptr) << "a run that the log does not have";
    for (size_t length = 0; length < bytes.size(); length += 1 + length / 20) {
      EXPECT_EQ(KeyIndex::Decode(std::string_view(bytes).substr(0, length), 5), nullptr);
    }
    if (HasFatalFailure()) return;
  }
}

TEST(KeyIndexTest, TakesAboutTwentyFiveBytesAKey) {
  std::mt19937_64 random(1);
  std::set<std::string> names;
  while (names.size() < 3000)
    names.insert("user" + std::to_string(1000000000000000000 + random() % 1000000000000000));
  std::vector<SortedRunKey> keys;
  for (const std::string& name : names) {
    const auto run = static_cast<uint32_t>(random() % 100);
    keys.push_back({name, random() % 20'000'000, {random() % 4 * 3328, 3328}, run});
  }
  const KeyIndex index(keys, 0);
  EXPECT_LE(index.memory(), keys.size() * 28);
}

}  // namespace
}  // namespace chunkstore::testing
