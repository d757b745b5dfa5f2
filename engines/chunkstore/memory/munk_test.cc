#include "memory/munk.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "memory/pages.h"

namespace chunkstore {
namespace {

struct NewestFirst {
  bool operator()(const std::pair<std::string, Version>& a,
                  const std::pair<std::string, Version>& b) const {
    return Compare(a.first, a.second, b.first, b.second) < 0;
  }
};
struct Content {
  std::string value;
  EntryType type = EntryType::kValue;
};
using Model = std::map<std::pair<std::string, Version>, Content, NewestFirst>;

Entry EntryOf(const Model::value_type& item) {
  return {item.first.first, item.second.value, item.first.second, item.second.type};
}

void ExpectSame(const Munk& munk, const Model& model, const std::string& from = "") {
  const auto cursor = munk.NewCursor();
  auto at = model.lower_bound({from, kNewest});
  for (cursor->Seek(from); cursor->Valid(); cursor->Next(), ++at) {
    ASSERT_NE(at, model.end());
    const Entry entry = cursor->entry();
    ASSERT_EQ(entry.key, at->first.first);
    ASSERT_EQ(entry.version, at->first.second);
    ASSERT_EQ(entry.value, at->second.value);
    ASSERT_EQ(entry.type, at->second.type);
  }
  EXPECT_EQ(at, model.end());
  EXPECT_TRUE(cursor->status().ok());
}

void ExpectLookup(const Munk& munk, const Model& model, const std::string& key, Version version) {
  Entry entry;
  const bool found = munk.Lookup(key, version, &entry);
  const auto expected = model.lower_bound({key, version});
  const bool exists = expected != model.end() && expected->first.first == key;
  ASSERT_EQ(found, exists) << key << " at " << version;
  if (!exists) return;
  ASSERT_EQ(entry.key, key);
  ASSERT_EQ(entry.version, expected->first.second);
  ASSERT_EQ(entry.value, expected->second.value);
  ASSERT_EQ(entry.type, expected->second.type);
}

TEST(Munk, Empty) {
  Munk munk("", "");
  EXPECT_FALSE(munk.active());
  munk.Activate();
  EXPECT_TRUE(munk.active());
  Entry entry;
  EXPECT_FALSE(munk.Lookup("a", kNewest, &entry));
  EXPECT_FALSE(munk.Lookup("", kNewest, &entry));
  const auto cursor = munk.NewCursor();
  cursor->Seek("");
  EXPECT_FALSE(cursor->Valid());
  EXPECT_EQ(munk.entries(), 0u);
  EXPECT_LT(munk.memory(), 2048u) << "there may be very many munks";
}

TEST(Munk, CoversItsRange) {
  const Munk bounded("b", "d");
  EXPECT_FALSE(bounded.Covers("a"));
  EXPECT_TRUE(bounded.Covers("b"));
  EXPECT_TRUE(bounded.Covers("c"));
  EXPECT_FALSE(bounded.Covers("d"));
  const Munk open("b", "");
  EXPECT_TRUE(open.Covers("zzz"));
  EXPECT_EQ(bounded.min_key(), "b");
  EXPECT_EQ(bounded.max_key(), "d");
}

TEST(Munk, NewestOfArrayAndList) {
  Munk munk("", "");
  munk.Insert({"a", "list 9", 9, EntryType::kValue});
  munk.Insert({"b", "list 2", 2, EntryType::kValue});  // older than what is filled in
  munk.Insert({"c", "both 4", 4, EntryType::kValue});
  munk.Fill({"a", "array 5", 5, EntryType::kValue});
  munk.Fill({"b", "array 7", 7, EntryType::kValue});
  munk.Fill({"c", "both 4", 4, EntryType::kValue});
  munk.Fill({"d", "", 3, EntryType::kDeletion});
  munk.Activate();
  Entry entry;
  ASSERT_TRUE(munk.Lookup("a", kNewest, &entry));
  EXPECT_EQ(entry.value, "list 9");
  ASSERT_TRUE(munk.Lookup("a", 8, &entry));
  EXPECT_EQ(entry.value, "array 5");
  EXPECT_FALSE(munk.Lookup("a", 4, &entry));
  ASSERT_TRUE(munk.Lookup("b", kNewest, &entry));
  EXPECT_EQ(entry.value, "array 7");
  ASSERT_TRUE(munk.Lookup("b", 6, &entry));
  EXPECT_EQ(entry.value, "list 2");
  ASSERT_TRUE(munk.Lookup("d", kNewest, &entry));
  EXPECT_EQ(entry.type, EntryType::kDeletion);
  const auto cursor = munk.NewCursor();
  int entries = 0;
  for (cursor->Seek(""); cursor->Valid(); cursor->Next()) ++entries;
  EXPECT_EQ(entries, 6) << "a twice, b twice, c once, d";
  EXPECT_EQ(munk.appended(), 3u);
  EXPECT_GE(munk.appended_memory(), 21u);
}

TEST(Munk, WritersReachTheSuccessors) {
  Munk old("", "");
  old.Activate();
  Munk left("", "m"), right("m", "");
  old.Insert({"a", "1", 1, EntryType::kValue});
  old.SetSuccessors({&left, &right});
  old.Insert({"b", "2", 2, EntryType::kValue});
  old.Insert({"z", "3", 3, EntryType::kValue});
  EXPECT_EQ(left.appended(), 1u);
  EXPECT_EQ(right.appended(), 1u);
  Munk last("m", "");
  right.SetSuccessors({&last});
  old.Insert({"m", "4", 4, EntryType::kValue});
  EXPECT_EQ(last.appended(), 1u);
  old.SetSuccessors({});
  old.Insert({"c", "5", 5, EntryType::kValue});
  EXPECT_EQ(left.appended(), 1u);
  EXPECT_EQ(old.appended(), 5u);
}

TEST(Munk, MemoryOverheadIsSmall) {
  Munk munk("", "");
  size_t payload = 0;
  for (int i = 0; i < 640; ++i) {
    const std::string key = "user" + std::to_string(1'000'000'000 + i * 7919);
    munk.Fill({key, std::string(800, 'v'), 1, EntryType::kValue});
    payload += key.size() + 800;
  }
  munk.Activate();
  EXPECT_GE(munk.memory(), payload);
  EXPECT_LE(munk.memory(), payload + payload / 10);
}

// Keys that make the search tree's life hard: shared prefixes longer than what it compares,
// prefixes of each other, zeros and the largest bytes.
std::string AwkwardKey(std::mt19937* random, int style) {
  const auto number = (*random)();
  switch (style) {
    case 0:
      return std::string(number % 12, '\0');
    case 1:
      return "common" + std::string(number % 20, '\xff');
    case 2:
      return "the same long beginning " + std::to_string(number % 300);
    case 3:
      return "prefix" + std::string(8, 'x') + std::to_string(number % 100);
    case 4:
      return std::to_string(number % 5000);
    default: {
      std::string key;
      for (uint32_t i = number % 4; i > 0; --i) key += "\0a\xff"[(*random)() % 3];
      return key;
    }
  }
}

TEST(Munk, RandomContentAgreesWithAModel) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 60; ++round) {
    Model model, filled;
    const int style = round % 7;  // 6: all styles mixed
    const uint32_t entries = random() % (round % 10 == 0 ? 6000 : 300);
    Munk munk("", "");
    for (uint32_t i = 0; i < entries; ++i) {
      const std::string key =
          AwkwardKey(&random, style < 6 ? style : static_cast<int>(random() % 6));
      const Version version = 1 + random() % 50;
      Content content{std::string(random() % 40, 'v'), EntryType::kValue};
      if (random() % 8 == 0) content = {"", EntryType::kDeletion};
      const auto added = model.insert({{key, version}, content});
      if (!added.second) continue;
      const uint32_t where = random() % 3;  // the list, the array or both
      if (where != 0) munk.Insert(EntryOf(*added.first));
      if (where != 1) filled.insert(*added.first);
    }
    for (const auto& item : filled) munk.Fill(EntryOf(item));
    munk.Activate();
    ExpectSame(munk, model);
    for (int i = 0; i < 300; ++i) {
      const std::string key =
          AwkwardKey(&random, style < 6 ? style : static_cast<int>(random() % 6));
      ExpectLookup(munk, model, key, random() % 3 == 0 ? kNewest : random() % 52);
      if (i % 30 == 0) ExpectSame(munk, model, key);
    }
    if (HasFatalFailure()) return;
  }
}

TEST(Munk, LargeArray) {
  Munk munk("", "");
  Model model;
  for (int i = 0; i < 70'000; ++i) model[{std::to_string(i * 37), 5}] = {std::to_string(i), {}};
  for (auto& item : model) item.second.type = EntryType::kValue;
  for (const auto& item : model) munk.Fill(EntryOf(item));
  munk.Activate();
  EXPECT_EQ(munk.entries(), 70'000u);
  for (int i = 0; i < 70'000; i += 7) {
    ExpectLookup(munk, model, std::to_string(i * 37), kNewest);
    ExpectLookup(munk, model, std::to_string(i * 37 + 1), kNewest);
  }
  EXPECT_LT(munk.memory(), size_t{6} << 20);
}

// Writers insert while a munk is filled, read, and replaced by two; nothing may get lost.
TEST(Munk, ConcurrentWritersReadersAndReplacement) {
  constexpr int kWriters = 3, kEach = 3000;
  Munk old("", "");
  Munk left("", "w1"), right("w1", "");
  for (int i = 0; i < 500; ++i) {
    const std::string key = "base" + std::to_string(1000 + i);
    old.Fill({key, key, 1, EntryType::kValue});
  }
  std::atomic<bool> done{false};
  std::atomic<int> inside{0}, wrong{0};
  const auto key_of = [](int writer, int i) {
    std::string key(1, 'w');
    key.append(std::to_string(writer)).append("/").append(std::to_string(i));
    return key;
  };
  std::vector<std::thread> threads;
  for (int w = 0; w < kWriters; ++w) {
    threads.emplace_back([&, w] {
      for (int i = 0; i < kEach; ++i) {
        const std::string key = key_of(w, i);
        inside.fetch_add(1);
        old.Insert({key, "value of " + key, static_cast<Version>(2 + i), EntryType::kValue});
        inside.fetch_sub(1);
      }
    });
  }
  old.Activate();
  threads.emplace_back([&] {
    while (!done.load()) {
      Entry entry;
      if (!old.Lookup("base1250", kNewest, &entry) || entry.value != "base1250") wrong.fetch_add(1);
      const auto cursor = old.NewCursor();
      std::string last;
      for (cursor->Seek("w0"); cursor->Valid(); cursor->Next()) {
        if (cursor->entry().key <= last) wrong.fetch_add(1);
        last = cursor->entry().key;
      }
      static_cast<void>(old.memory() + left.memory() + left.entries());
    }
  });
  old.SetSuccessors({&left, &right});
  while (inside.load() != 0) std::this_thread::yield();  // the earlier pending writes
  const auto cursor = old.NewCursor();
  for (cursor->Seek(""); cursor->Valid(); cursor->Next()) {
    (left.Covers(cursor->entry().key) ? left : right).Fill(cursor->entry());
  }
  left.Activate();
  right.Activate();
  for (int w = 0; w < kWriters; ++w) threads[static_cast<size_t>(w)].join();
  done.store(true);
  threads.back().join();
  EXPECT_EQ(wrong.load(), 0);
  for (int w = 0; w < kWriters; ++w) {
    for (int i = 0; i < kEach; ++i) {
      const std::string key = key_of(w, i);
      Entry entry;
      ASSERT_TRUE((left.Covers(key) ? left : right).Lookup(key, kNewest, &entry)) << key;
      ASSERT_EQ(entry.value, "value of " + key);
    }
  }
}

TEST(GrowingBuffer, KeepsItsContentFromHeapToMapping) {
  GrowingBuffer buffer;
  std::string expected;
  for (uint32_t i = 0; i < 100'000; ++i) {
    char* to = buffer.Append(32);
    const std::string piece(32, static_cast<char>('a' + i % 26));
    piece.copy(to, 32);
    expected += piece;
  }
  EXPECT_EQ(std::string_view(buffer.data(), buffer.size()), expected);
  buffer.ShrinkToFit();
  EXPECT_EQ(std::string_view(buffer.data(), buffer.size()), expected);
  EXPECT_LE(buffer.capacity(), buffer.size() + kPageBytes);
  GrowingBuffer small;
  small.Append(5);
  small.ShrinkToFit();
  EXPECT_EQ(small.capacity(), 8u);
}

TEST(GrowingBuffer, StaysInPlaceWithinWhatWasReserved) {
  for (const size_t bytes : {size_t{1} << 10, size_t{4} << 20}) {  // on the heap, mapped
    GrowingBuffer buffer;
    buffer.Reserve(bytes);
    const char* const place = buffer.data();
    while (buffer.size() < bytes) *buffer.Append(64) = 'a';
    EXPECT_EQ(buffer.data(), place) << bytes;
    buffer.Reserve(8);
    EXPECT_GE(buffer.capacity(), bytes) << "a smaller demand takes nothing away";
  }
}

TEST(SparePages, ServeTheNextBuffer) {
  constexpr size_t kBytes = size_t{1} << 20;
  SparePages spare(2 * kBytes);
  const auto fill = [&spare](size_t bytes, char with) {
    GrowingBuffer buffer(&spare);
    std::memset(buffer.Append(bytes), with, bytes);
    buffer.ShrinkToFit();
    return std::string(buffer.data(), buffer.size()) == std::string(bytes, with);
  };
  EXPECT_TRUE(fill(kBytes, 'a'));
  EXPECT_EQ(spare.bytes(), kBytes);
  EXPECT_TRUE(fill(kBytes / 2, 'b'));  // the rest of the mapping goes back
  EXPECT_EQ(spare.bytes(), kBytes / 2);
  EXPECT_TRUE(fill(3 * kBytes, 'c')) << "a mapping that was too small grows";
  EXPECT_EQ(spare.bytes(), 0u) << "more than is to be kept";
  EXPECT_TRUE(fill(64, 'd'));  // from the heap
  EXPECT_EQ(spare.bytes(), 0u);
}

}  // namespace
}  // namespace chunkstore
