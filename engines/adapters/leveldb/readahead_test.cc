#include "readahead.h"

#include <gtest/gtest.h>

namespace kvdyno::level {

namespace {

constexpr uint64_t kFileSize = 10 * Readahead::kWindow + 12'345;
constexpr uint64_t kBlock = 4'099;  // does not divide a window

TEST(LevelReadahead, ForegroundReadsAskForNothing) {
  Readahead readahead(kFileSize);
  for (uint64_t at = 0; at + kBlock <= kFileSize; at += kBlock) {
    EXPECT_EQ(readahead.Before(at, kBlock).size, 0u);
  }
}

TEST(LevelReadahead, BackgroundReadsAskOnceForEachWindowAndMissNothing) {
  const BackgroundWork work;
  Readahead readahead(kFileSize);
  uint64_t asked = 0, covered = 0;
  for (uint64_t at = 0; at < kFileSize; at += kBlock) {
    const uint64_t size = std::min(kBlock, kFileSize - at);
    const Stretch stretch = readahead.Before(at, size);
    if (stretch.size > 0) {
      asked++;
      EXPECT_LE(stretch.start, covered);
      EXPECT_EQ(stretch.start % Readahead::kAlignment, 0u);
      covered = stretch.start + stretch.size;
    }
    EXPECT_LE(at + size, covered);
    EXPECT_LE(covered, kFileSize);
  }
  EXPECT_EQ(asked, 11u);
}

TEST(LevelReadahead, MarkEndsWithTheWork) {
  EXPECT_FALSE(BackgroundWork::here());
  {
    const BackgroundWork work;
    EXPECT_TRUE(BackgroundWork::here());
  }
  EXPECT_FALSE(BackgroundWork::here());
}

TEST(LevelReadahead, ReadBeyondTheEndAsksForNothing) {
  const BackgroundWork work;
  Readahead readahead(100);
  EXPECT_EQ(readahead.Before(10 * Readahead::kWindow, kBlock).size, 0u);
}

}  // namespace

}  // namespace kvdyno::level
