// One writer, several samplers, merges in the background: each query sees one moment of the history.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

#include "model.h"

namespace sampling::guarantees {
namespace {

std::vector<Options> ConcurrentPolicies() {
  std::vector<Options> all;
  for (const Kind* kind : {&kWeightedSet, &kWeightedRange}) {
    for (Options options : Policies(*kind)) {
      options.background = true;
      all.push_back(options);
    }
  }
  return all;
}

// Runs `sample(random)` in three threads until `write()` returns.
template <typename Write, typename Sample>
void Together(Write write, Sample sample) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> samplers;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    samplers.emplace_back([&, seed] {
      Random random(seed);
      do sample(&random);
      while (!stop);
    });
  }
  write();
  stop = true;
  for (std::thread& sampler : samplers) sampler.join();
}

// The writer inserts record i + 1 and then deletes record i: at each moment, one record is live, or two neighbours.
TEST(Concurrency, AQuerySeesOneMoment) {
  for (const Options& options : ConcurrentPolicies()) {
    SCOPED_TRACE(NameOf(options));
    Model model(options, 1);
    Index& index = model.index();
    ASSERT_TRUE(index.Insert({0, 0, 1}).ok());
    std::atomic<size_t> torn{0}, failed{0};
    Together(
        [&] {
          for (uint64_t i = 0; i < 3000; ++i) {
            failed += !index.Insert({i + 1, 0, 1}).ok();
            failed += !index.Delete(i, 0).ok();
          }
        },
        [&](Random* random) {
          std::vector<Record> samples;
          failed += !index.Sample({}, 8, random, &samples).ok();
          uint64_t least = UINT64_MAX, most = 0;
          for (const Record& sample : samples) {
            least = std::min(least, sample.key);
            most = std::max(most, sample.key);
          }
          torn += most > least + 1;
        });
    EXPECT_EQ(torn, 0u);
    EXPECT_EQ(failed, 0u);
    index.Settle();
    EXPECT_TRUE(index.Verify().ok()) << index.Verify().ToString();
    EXPECT_EQ(model.Live().size(), 1u);
  }
}

// Half of the records stay; the others come and go. Draws among those that stay follow their weights throughout.
TEST(Concurrency, DrawsStayExactWhileTheIndexChanges) {
  for (const Options& options : ConcurrentPolicies()) {
    SCOPED_TRACE(NameOf(options));
    Model model(options, 2);
    Index& index = model.index();
    constexpr uint64_t kStay = 40;
    for (uint64_t i = 0; i < kStay; ++i) ASSERT_TRUE(index.Insert({2 * i, 0, 1}).ok());
    std::atomic<size_t> failed{0}, drawn{0}, first_half{0};
    Together(
        [&] {
          for (uint64_t round = 0; round < 60; ++round) {
            for (uint64_t i = 0; i < kStay; ++i)
              failed += !index.Insert({2 * i + 1, round, 2}).ok();
            for (uint64_t i = 0; i < kStay; ++i) failed += !index.Delete(2 * i + 1, round).ok();
          }
        },
        [&](Random* random) {
          std::vector<Record> samples;
          failed += !index.Sample({}, 50, random, &samples).ok();
          for (const Record& sample : samples) {
            if (sample.key % 2 == 1) continue;
            ++drawn;
            first_half += sample.key < kStay;
          }
        });
    EXPECT_EQ(failed, 0u);
    ASSERT_GT(drawn, 0u);
    const auto draws = static_cast<double>(drawn);
    EXPECT_LT(std::abs(static_cast<double>(first_half) - draws / 2),
              kFits * std::sqrt(draws) / 2 + 1);
    index.Settle();
    EXPECT_TRUE(index.Verify().ok()) << index.Verify().ToString();
    EXPECT_EQ(model.Live().size(), kStay);
  }
}

TEST(Concurrency, DeletesAndDrawsWaitForNoMerge) {
  EXPECT_EQ(CheckDeletesDuringAMerge(/*external=*/false), "");
  EXPECT_EQ(CheckDeletesDuringAMerge(/*external=*/true), "");
}

TEST(Concurrency, AnIndexClosesWhileAMergeIsDue) {
  for (int i = 0; i < 20; ++i) {
    Model model(ConcurrentPolicies()[static_cast<size_t>(i) % 16], 3);
    for (uint64_t key = 0; key < 200; ++key) ASSERT_TRUE(model.Insert({key, 0, 1}).ok());
  }
}

}  // namespace
}  // namespace sampling::guarantees
