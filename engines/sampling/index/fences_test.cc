#include "index/fences.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kvdyno/base/random.h"

namespace sampling {
namespace {

TEST(Fences, CountAsABisectionDoes) {
  kvdyno::Random random(1);
  const std::vector<std::vector<uint64_t>> spreads = {
      {},
      {5},
      {0, UINT64_MAX},
      std::vector<uint64_t>(100, 7),
      [&] {  // even
        std::vector<uint64_t> keys(1000);
        for (uint64_t& key : keys) key = random.Next();
        return keys;
      }(),
      [&] {  // nearly all in one part of the range, many of them alike
        std::vector<uint64_t> keys(1000);
        for (uint64_t& key : keys) key = 1'000'000 + random.Below(300);
        keys.push_back(UINT64_MAX);
        return keys;
      }(),
  };
  for (std::vector<uint64_t> keys : spreads) {
    std::sort(keys.begin(), keys.end());
    Fences fences;
    for (const uint64_t key : keys) fences.Add(key);
    fences.Finish();
    std::vector<uint64_t> asked = {0, UINT64_MAX, random.Next()};
    for (const uint64_t key : keys) asked.insert(asked.end(), {key - 1, key, key + 1});
    for (const uint64_t key : asked) {
      const auto below =
          static_cast<size_t>(std::lower_bound(keys.begin(), keys.end(), key) - keys.begin());
      const auto at_most =
          static_cast<size_t>(std::upper_bound(keys.begin(), keys.end(), key) - keys.begin());
      ASSERT_EQ(fences.Below(key), below) << "of " << keys.size() << " fences, key " << key;
      ASSERT_EQ(fences.AtMost(key, below), at_most)
          << "of " << keys.size() << " fences, key " << key;
    }
  }
}

}  // namespace
}  // namespace sampling
