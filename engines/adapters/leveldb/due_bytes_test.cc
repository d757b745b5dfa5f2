#include "due_bytes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kvdyno::level {

namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

// The property's text for tables of these sizes; their keys try to look like its other lines.
std::string Tables(const std::vector<std::vector<uint64_t>>& levels) {
  std::string text;
  uint64_t number = 7;
  for (size_t level = 0; level < 7; level++) {
    text += "--- level " + std::to_string(level) + " ---\n";
    if (level >= levels.size()) continue;
    for (const uint64_t bytes : levels[level]) {
      text += " " + std::to_string(number++) + ":" + std::to_string(bytes) +
              "['--- level 9 ---' @ 12 : 1 .. '5:99' @ 3 : 1]\n";
    }
  }
  return text;
}

TEST(LevelDueBytes, Level0CountsOnceItHasFourFiles) {
  EXPECT_EQ(DueBytes(Tables({{kMiB, kMiB, kMiB}})), 0u);
  EXPECT_EQ(DueBytes(Tables({{kMiB, kMiB, kMiB, 5}})), 3 * kMiB + 5);
}

TEST(LevelDueBytes, OtherLevelsCountWithWhatIsBeyondTheirLimit) {
  EXPECT_EQ(DueBytes(Tables({{}, {10 * kMiB}, {60 * kMiB, 40 * kMiB}})), 0u);
  EXPECT_EQ(DueBytes(Tables({{}, {10 * kMiB, 1}, {60 * kMiB, 43 * kMiB}})), 3 * kMiB + 1);
  const std::vector<std::vector<uint64_t>> fifth = {{}, {}, {}, {}, {}, {2'000'000 * kMiB}};
  EXPECT_EQ(DueBytes(Tables(fifth)), 1'900'000 * kMiB);
}

TEST(LevelDueBytes, TheLastLevelHasNoLimit) {
  EXPECT_EQ(DueBytes(Tables({{}, {}, {}, {}, {}, {}, {uint64_t{1} << 60}})), 0u);
}

TEST(LevelDueBytes, NothingIsDueOfNothing) {
  EXPECT_EQ(DueBytes(""), 0u);
  EXPECT_EQ(DueBytes("--- level"), 0u);
}

}  // namespace

}  // namespace kvdyno::level
