#include "memory/block_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kvdyno/base/testing/process.h"
#include "memory/ghost_list.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;  // the resident set is not the program's own
#else
constexpr bool kSanitized = false;
#endif

namespace chunkstore {
namespace {

using kvdyno::testing::ResidentBytes;
using Handle = BlockCache::Handle;

// What the block at a place holds: derived from the place, so that a mix-up shows.
std::string BlockAt(uint64_t segment, uint64_t offset, size_t size) {
  std::string bytes(size, '\0');
  std::minstd_rand random(static_cast<uint32_t>(segment * 31 + offset + 1));
  for (size_t i = 0; i < size; i += 97) bytes[i] = static_cast<char>(random());
  return bytes;
}

TEST(BlockCache, ReturnsWhatWasInserted) {
  BlockCache cache(1 << 20);
  EXPECT_FALSE(cache.Lookup(1, 0));
  const Handle inserted = cache.Insert(1, 0, "block");
  EXPECT_EQ(inserted.bytes(), "block");
  const Handle found = cache.Lookup(1, 0);
  ASSERT_TRUE(found);
  EXPECT_EQ(found.bytes().data(), inserted.bytes().data());
  EXPECT_FALSE(cache.Lookup(1, 4096));
  EXPECT_FALSE(cache.Lookup(2, 0));
  EXPECT_EQ(cache.Insert(1, 0, "other").bytes(), "block");
  const auto counts = cache.counts();
  EXPECT_EQ(counts.hits, 1u);
  EXPECT_EQ(counts.misses, 3u);
  EXPECT_EQ(counts.inserts, 1u);
}

TEST(BlockCache, HandlesMove) {
  BlockCache cache(1 << 20);
  Handle a = cache.Insert(1, 0, "a");
  Handle b = cache.Insert(1, 1, "b");
  Handle c(std::move(a));
  b = std::move(c);
  EXPECT_EQ(b.bytes(), "a");
  EXPECT_FALSE(Handle());
}

TEST(BlockCache, CapacityZeroHoldsOnlyWhatHandlesHold) {
  BlockCache cache(0);
  {
    const Handle handle = cache.Insert(1, 0, std::string(5000, 'x'));
    EXPECT_EQ(handle.bytes(), std::string(5000, 'x'));
    EXPECT_FALSE(cache.Lookup(1, 0));
    EXPECT_GE(cache.memory(), 5000u);
  }
  EXPECT_EQ(cache.memory(), 0u);
  cache.SetCapacity(8 << 20);
  cache.Insert(1, 0, "x");
  EXPECT_TRUE(cache.Lookup(1, 0));
}

TEST(BlockCache, HoldsABlockLargerThanAShardByItsHandle) {
  BlockCache cache(256 << 10);
  const std::string large(1 << 20, 'l');
  const Handle handle = cache.Insert(1, 0, large);
  EXPECT_EQ(handle.bytes(), large);
  EXPECT_FALSE(cache.Lookup(1, 0));
}

TEST(BlockCache, TinyCapacitiesCacheSomething) {
  for (const size_t capacity : {20'000, 40'000, 100'000, 300'000}) {
    BlockCache cache(capacity);
    for (uint64_t i = 0; i < 200; ++i) cache.Insert(1, i, BlockAt(1, i, 4096));
    size_t found = 0;
    for (uint64_t i = 0; i < 200; ++i) found += cache.Lookup(1, i) ? 1 : 0;
    EXPECT_GT(found * 4096, capacity / 3) << capacity;
    EXPECT_LE(cache.memory(), capacity + capacity / 8) << capacity;
  }
}

TEST(BlockCache, UsesItsCapacityAndNotMore) {
  constexpr size_t kCapacity = 16 << 20;
  for (const size_t size : {200, 1000, 3300, 4096, 4352, 5000, 16384}) {
    BlockCache cache(kCapacity);
    const size_t blocks = 2 * kCapacity / size;
    for (uint64_t i = 0; i < blocks; ++i) cache.Insert(1, i, BlockAt(1, i, size));
    EXPECT_LE(cache.memory(), kCapacity + kCapacity / 50) << size;
    EXPECT_GE(cache.memory(), kCapacity - kCapacity / 10) << size;
  }
}

TEST(BlockCache, MemoryFollowsTheResidentSet) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer's own memory is in the way";
  constexpr size_t kCapacity = 64 << 20;
  const auto before = static_cast<double>(ResidentBytes());
  BlockCache cache(kCapacity);
  std::mt19937 random(1);
  const std::string bytes(4352, 'x');
  const auto check = [&](const char* when) {
    const double resident = static_cast<double>(ResidentBytes()) - before;
    EXPECT_NEAR(static_cast<double>(cache.memory()), resident, 0.04 * resident + 1e6) << when;
  };
  for (uint64_t i = 0; i < 6000; ++i) cache.Insert(1, i, bytes);
  check("while filling");
  for (uint64_t i = 6000; i < 60'000; ++i) {
    cache.Insert(1, i, std::string_view(bytes).substr(0, 3000 + random() % 1353));
  }
  check("full");
  cache.SetCapacity(kCapacity / 4);
  EXPECT_LE(cache.memory(), kCapacity / 4);
  check("after shrinking");
  cache.SetCapacity(0);
  EXPECT_EQ(cache.memory(), 0u);
  check("after emptying");
}

TEST(BlockCache, AdaptsWhenTheSizeOfBlocksChanges) {
  constexpr size_t kCapacity = 16 << 20;
  BlockCache cache(kCapacity);
  const auto hits_of = [&cache](uint64_t segment, size_t size) {
    const uint64_t blocks = kCapacity * 8 / 10 / size;
    for (int round = 0; round < 4; ++round) {
      for (uint64_t i = 0; i < blocks; ++i) cache.Insert(segment, i, BlockAt(segment, i, size));
    }
    uint64_t found = 0;
    for (uint64_t i = 0; i < blocks; ++i) found += cache.Lookup(segment, i) ? 1 : 0;
    return static_cast<double>(found) / static_cast<double>(blocks);
  };
  EXPECT_GT(hits_of(1, 4096), 0.8);
  EXPECT_GT(hits_of(2, 700), 0.7);
  EXPECT_GT(hits_of(3, 9000), 0.7);
  EXPECT_GT(hits_of(4, 4352), 0.8);
}

TEST(BlockCache, PinnedBlocksStay) {
  BlockCache cache(1 << 20);
  std::vector<Handle> pinned;
  for (uint64_t i = 0; i < 50; ++i) pinned.push_back(cache.Insert(1, i, BlockAt(1, i, 4000)));
  for (uint64_t i = 0; i < 2000; ++i) cache.Insert(2, i, BlockAt(2, i, 4000));
  cache.SetCapacity(0);
  cache.SetCapacity(1 << 20);
  for (uint64_t i = 0; i < 2000; ++i) cache.Insert(3, i, BlockAt(3, i, 4000));
  for (uint64_t i = 0; i < 50; ++i) EXPECT_EQ(pinned[i].bytes(), BlockAt(1, i, 4000));
}

TEST(BlockCache, EverythingPinnedStillServes) {
  BlockCache cache(256 << 10);
  std::vector<Handle> pinned;
  for (uint64_t i = 0; i < 400; ++i) pinned.push_back(cache.Insert(1, i, BlockAt(1, i, 4096)));
  for (uint64_t i = 0; i < 400; ++i) EXPECT_EQ(pinned[i].bytes(), BlockAt(1, i, 4096));
  EXPECT_GE(cache.memory(), 400u * 4096u);
  pinned.clear();
  cache.Insert(2, 0, "x");
  EXPECT_LE(cache.memory(), (256u << 10) + (16u << 10));
}

TEST(BlockCache, KeepsWhatIsUsedThroughAScan) {
  BlockCache cache(4 << 20);
  for (uint64_t i = 0; i < 100; ++i) cache.Insert(1, i, BlockAt(1, i, 4096));
  for (uint64_t i = 0; i < 20'000; ++i) {
    cache.Insert(2, i, "scanned");
    cache.Insert(3, i, BlockAt(3, i, 4096));
    if (i % 100 == 0) {
      for (uint64_t k = 0; k < 100; ++k) cache.Lookup(1, k);
    }
  }
  size_t kept = 0;
  for (uint64_t i = 0; i < 100; ++i) kept += cache.Lookup(1, i) ? 1 : 0;
  EXPECT_EQ(kept, 100u);
}

TEST(BlockCache, GhostsShowWhatTwiceTheSizeWouldServe) {
  constexpr size_t kCapacity = 4 << 20;
  BlockCache cache(kCapacity);
  const uint64_t held = kCapacity / (4096 + 64 + 32);
  const auto read = [&cache](uint64_t i) {
    if (!cache.Lookup(1, i)) cache.Insert(1, i, BlockAt(1, i, 4096));
  };
  // A cycle of 1.6 times the size never hits, but would with twice the size.
  for (int round = 0; round < 5; ++round) {
    for (uint64_t i = 0; i < held * 8 / 5; ++i) read(i);
  }
  auto counts = cache.counts();
  EXPECT_GT(counts.ghost_hits * 10, counts.misses * 6);
  // A cycle of ten times the size would not.
  for (int round = 0; round < 3; ++round) {
    for (uint64_t i = 0; i < held * 10; ++i) read(1'000'000 + i);
  }
  const auto later = cache.counts();
  EXPECT_LT((later.ghost_hits - counts.ghost_hits) * 20, later.misses - counts.misses);
}

TEST(BlockCache, RandomOperationsAgreeWithAModel) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  BlockCache cache(1 << 20);
  const size_t sizes[] = {0, 1, 100, 256, 257, 700, 2000, 3300, 4096, 4352, 4353, 9000, 40'000};
  const auto size_of = [&sizes](uint64_t offset) { return sizes[offset % std::size(sizes)]; };
  std::vector<std::pair<uint64_t, Handle>> held;
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t offset = random() % 2000;
    Handle handle = cache.Lookup(7, offset);
    if (!handle) handle = cache.Insert(7, offset, BlockAt(7, offset, size_of(offset)));
    ASSERT_EQ(handle.bytes(), BlockAt(7, offset, size_of(offset)));
    if (random() % 4 == 0) held.emplace_back(offset, std::move(handle));
    while (held.size() > 30) {
      const size_t at = random() % held.size();
      ASSERT_EQ(held[at].second.bytes(), BlockAt(7, held[at].first, size_of(held[at].first)));
      std::swap(held[at], held.back());
      held.pop_back();
    }
    if (random() % 2000 == 0) cache.SetCapacity(random() % (2 << 20));
    const size_t capacity = cache.capacity();
    if (held.empty()) {
      ASSERT_LE(cache.memory(), capacity + capacity / 8 + 65536);
    }
  }
  held.clear();
  cache.SetCapacity(0);
  EXPECT_EQ(cache.memory(), 0u);
}

TEST(BlockCache, ManyThreads) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  BlockCache cache(512 << 10);
  std::atomic<uint64_t> wrong{0};
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&cache, &wrong, seed, t] {
      std::mt19937 random(seed + t);
      Handle kept;
      for (int i = 0; i < 10'000; ++i) {
        const uint64_t offset = random() % 400;
        const size_t size = 500 + offset * 10;
        Handle handle = cache.Lookup(1, offset);
        if (!handle) handle = cache.Insert(1, offset, BlockAt(1, offset, size));
        if (handle.bytes() != BlockAt(1, offset, size)) wrong.fetch_add(1);
        if (i % 3 == 0) kept = std::move(handle);
        if (t == 0 && i % 500 == 0) cache.SetCapacity(random() % (1 << 20));
        if (t == 2 && i % 100 == 0) static_cast<void>(cache.memory() + cache.counts().hits);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0u);
}

TEST(GhostList, RemembersAsManyAsItWasAllowed) {
  GhostList ghosts;
  EXPECT_FALSE(ghosts.Take(1));
  ghosts.Add(1);  // no room at all
  ghosts.Resize(1000);
  for (uint32_t i = 0; i < 5000; ++i) ghosts.Add(i * 2654435761u);
  size_t recent = 0, old = 0;
  for (uint32_t i = 4000; i < 5000; ++i) recent += ghosts.Take(i * 2654435761u) ? 1 : 0;
  for (uint32_t i = 0; i < 4000; ++i) old += ghosts.Take(i * 2654435761u) ? 1 : 0;
  EXPECT_GT(recent, 900u);
  EXPECT_EQ(old, 0u);
  EXPECT_FALSE(ghosts.Take(4999 * 2654435761u)) << "taken before";
}

TEST(BlockCache, ForgetsWhatWillNotBeReadAgain) {
  BlockCache cache(1 << 20);
  EXPECT_FALSE(cache.Holds(1, 0));
  cache.Forget(1, 0);
  (void)cache.Insert(1, 0, "one");
  (void)cache.Insert(1, 4096, "other");
  EXPECT_TRUE(cache.Holds(1, 0));
  {
    const BlockCache::Handle held = cache.Lookup(1, 0);
    cache.Forget(1, 0);
    EXPECT_EQ(held.bytes(), "one");
    EXPECT_TRUE(cache.Holds(1, 0)) << "as long as it is held";
  }
  cache.Forget(1, 0);
  EXPECT_FALSE(cache.Holds(1, 0));
  EXPECT_FALSE(cache.Lookup(1, 0));
  EXPECT_TRUE(cache.Holds(1, 4096));
  EXPECT_EQ(cache.Insert(1, 0, "again").bytes(), "again");
  // A large block has a slab of its size, which no larger one may get.
  (void)cache.Insert(2, 0, std::string(6'000, 'a'));
  cache.Forget(2, 0);
  const std::string larger(9'000, 'b');
  EXPECT_EQ(cache.Insert(2, 8192, larger).bytes(), larger);
  EXPECT_EQ(cache.Lookup(2, 8192).bytes(), larger);
}

}  // namespace
}  // namespace chunkstore
