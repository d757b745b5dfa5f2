#include "index/levels.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sampling/index.h"

namespace sampling {
namespace {

constexpr size_t kBuffer = 10;

// How many buffers' entries merges had written after each of eight full buffers, with levels of 2, 4, 8 … buffers.
std::vector<uint64_t> Written(Options options) {
  options.buffer_records = kBuffer;
  options.scale_factor = 2;
  std::unique_ptr<Index> index;
  const Status status = Index::Open(options, &index);
  EXPECT_TRUE(status.ok()) << status.ToString();
  std::vector<uint64_t> written;
  for (uint64_t i = 0; status.ok() && i < 8 * kBuffer; ++i) {
    EXPECT_TRUE(index->Insert({i * 7919 % 80, i, 1}).ok());
    if ((i + 1) % kBuffer > 0) continue;
    written.push_back(index->statistics().written / kBuffer);
    EXPECT_TRUE(index->Verify().ok());
  }
  return written;
}

TEST(Levels, WhatComesToAFullLevelGoesAlong) {
  Options options;
  options.layout = Layout::kLeveling;
  // The third buffer goes to level 1 with the two of level 0, the sixth to level 2 with all five.
  EXPECT_EQ(Written(options), (std::vector<uint64_t>{1, 3, 6, 7, 9, 15, 16, 18}));
  options.layout = Layout::kTiering;
  EXPECT_EQ(Written(options), (std::vector<uint64_t>{1, 2, 5, 6, 7, 13, 14, 15}));
}

TEST(Levels, OnDiskItStays) {
  Options options;
  options.layout = Layout::kLeveling;
  options.directory = ::testing::TempDir() + "sampling_levels_" + std::to_string(getpid());
  options.memory_levels = 0;
  options.memory_bytes = size_t{4} << 20;
  // The third buffer takes the place of the two that go to level 1; the seventh sends two to level 1, and its four on.
  EXPECT_EQ(Written(options), (std::vector<uint64_t>{1, 3, 6, 8, 13, 15, 22, 24}));
  std::filesystem::remove_all(options.directory);
}

}  // namespace
}  // namespace sampling
