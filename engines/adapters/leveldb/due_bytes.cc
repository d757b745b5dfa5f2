#include "due_bytes.h"

#include <array>
#include <charconv>
#include <cstddef>

namespace kvdyno::level {

namespace {

// Constants of LevelDB (db/dbformat.h, db/version_set.cc).
constexpr size_t kLevels = 7;
constexpr uint64_t kLevel0Files = 4;
constexpr uint64_t kLevel1Bytes = uint64_t{10} << 20;
constexpr uint64_t kGrowth = 10;

struct Level {
  uint64_t files = 0;
  uint64_t bytes = 0;
};

uint64_t NumberAfter(std::string_view text, std::string_view mark) {
  const size_t at = text.find(mark);
  uint64_t number = 0;
  if (at == text.npos) return number;
  text.remove_prefix(at + mark.size());
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Lines "--- level 1 ---", then " 17:123['a' .. 'd']" for a table of 123 bytes. Keys are escaped.
std::array<Level, kLevels> Read(std::string_view tables) {
  constexpr std::string_view kHeading = "--- level ";
  std::array<Level, kLevels> levels;
  size_t level = 0;
  while (!tables.empty()) {
    const std::string_view line = tables.substr(0, tables.find('\n'));
    tables.remove_prefix(line.size() < tables.size() ? line.size() + 1 : line.size());
    if (line.starts_with(kHeading)) {
      level = NumberAfter(line, kHeading);
    } else if (level < kLevels && line.starts_with(' ')) {
      levels[level].files += 1;
      levels[level].bytes += NumberAfter(line, ":");
    }
  }
  return levels;
}

}  // namespace

uint64_t DueBytes(std::string_view tables) {
  const std::array<Level, kLevels> levels = Read(tables);
  uint64_t due = levels[0].files >= kLevel0Files ? levels[0].bytes : 0;
  uint64_t limit = kLevel1Bytes;
  for (size_t i = 1; i + 1 < kLevels; ++i, limit *= kGrowth) {
    if (levels[i].bytes > limit) due += levels[i].bytes - limit;
  }
  return due;
}

}  // namespace kvdyno::level
