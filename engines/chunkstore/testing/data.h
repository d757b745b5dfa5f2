// Keys, values and options for the checkers.
// Owns the spelling of test values: a value names the write that made it, so that a reader can
// judge it alone. Knows no checker. Pure but for ScratchDirectory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chunkstore/options.h"
#include "kvdyno/base/testing/rng.h"

namespace chunkstore::testing {

using kvdyno::testing::Mix;
using kvdyno::testing::Rng;

// Names a value: a number that is never used twice, and its length. 0 stands for an absent key.
using ValueId = uint64_t;
inline constexpr int kLengthBits = 22;
inline constexpr ValueId kAbsent = 0;
inline ValueId MakeId(uint64_t number, uint64_t length) { return number << kLengthBits | length; }
inline uint64_t LengthOf(ValueId id) { return id & ((uint64_t{1} << kLengthBits) - 1); }
inline uint64_t NumberOfId(ValueId id) { return id >> kLengthBits; }

void MakeValue(ValueId id, std::string* value);
bool IsValue(ValueId id, std::string_view value);
// The value's own id, for values of 8 bytes and more; kAbsent for bytes that MakeValue never made.
ValueId IdOf(std::string_view value);
// Mostly short, sometimes longer than a block, rarely longer than a quarter of the smallest stage.
uint64_t RandomLength(Rng* rng, uint64_t minimum);
// "absent" or "value 17 of 120 bytes".
std::string Describe(ValueId id);
// For messages: hexadecimal where bytes do not print.
std::string Printable(std::string_view bytes);

// Distinct keys in order; short and long, binary, with shared prefixes, the empty one among them.
class KeySpace {
 public:
  KeySpace(Rng* rng, size_t count);
  size_t size() const { return keys_.size(); }
  const std::string& operator[](size_t rank) const { return keys_[rank]; }
  size_t LowerBound(std::string_view key) const;  // rank of the first key at or after
  // size() for a key that no row has.
  size_t Find(std::string_view key) const;

 private:
  std::vector<std::string> keys_;
};

// Tiny sizes, so that a few thousand writes split, merge, flush and evict; all else at random.
Options RandomOptions(Rng* rng);

// A new directory under `parent`, removed with all it holds.
class ScratchDirectory {
 public:
  explicit ScratchDirectory(const std::string& parent);
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace chunkstore::testing
