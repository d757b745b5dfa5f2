// Bytes that LevelDB's compactions are due for, by the rules that it scores levels with.
// Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace kvdyno::level {

// From the text of the property "leveldb.sstables". Level 0 counts whole once it has four files;
// level i counts with what it holds above 10^i MiB; the last level, which has no limit, does not
// count. Compactions that LevelDB starts because of many seeks are not foreseen.
uint64_t DueBytes(std::string_view tables);

}  // namespace kvdyno::level
