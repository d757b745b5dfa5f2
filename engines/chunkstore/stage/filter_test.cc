#include "stage/filter.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "kvdyno/base/hash.h"

namespace chunkstore {
namespace {

uint64_t HashOf(uint64_t i) { return kvdyno::Hash64("user" + std::to_string(i)); }

TEST(Filter, NoFalseNegativesAndFewFalsePositives) {
  constexpr uint64_t kKeys = 20000;
  Filter filter(kKeys * 10 / 8);
  for (uint64_t i = 0; i < kKeys; ++i) filter.Add(HashOf(i));
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < kKeys; ++i) {
    ASSERT_TRUE(filter.MayContain(HashOf(i)));
    wrong += filter.MayContain(HashOf(kKeys + i)) ? 1 : 0;
  }
  EXPECT_LT(wrong, kKeys / 20);
}

TEST(Filter, EmptyAndTiny) {
  Filter filter(0);
  EXPECT_FALSE(filter.MayContain(HashOf(1)));
  filter.Add(HashOf(1));
  EXPECT_TRUE(filter.MayContain(HashOf(1)));
  EXPECT_EQ(filter.memory(), 64u);
}

TEST(Filter, ConcurrentAddsAreNotLost) {
  Filter filter(512);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = t; i < 400; i += 4) filter.Add(HashOf(i));
    });
  }
  for (auto& thread : threads) thread.join();
  for (uint64_t i = 0; i < 400; ++i) EXPECT_TRUE(filter.MayContain(HashOf(i)));
}

}  // namespace
}  // namespace chunkstore
