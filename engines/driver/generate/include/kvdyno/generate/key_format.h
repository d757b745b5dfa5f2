// KeyFormat: a key index as the engine sees it: a prefix and a zero-padded decimal number, so that
// keys sort as their indices do.
// Immutable; safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kvdyno {

class KeyFormat {
 public:
  // digits >= 1. The default spells 14 bytes: "user0000000042".
  explicit KeyFormat(std::string prefix = "user", int digits = 10);

  // Whether all keys up to this index sort as their indices do. An index wider than the digits is
  // spelled in full, never cut; its key is longer and does not sort behind the others.
  bool SortsUpTo(uint64_t index) const { return index <= widest_; }

  // Bytes of the longest key.
  size_t max_size() const;

  // Replaces *key; allocates only when its capacity does not suffice.
  void Format(uint64_t index, std::string* key) const;

  // Writes into max_size() bytes at `buffer` and returns the part used.
  std::string_view Format(uint64_t index, char* buffer) const;

  // False when Format spells no index like this.
  bool Parse(std::string_view key, uint64_t* index) const;

 private:
  size_t DigitsOf(uint64_t index) const;

  std::string prefix_;
  size_t digits_;
  uint64_t widest_;  // the last index that fits the digits
};

}  // namespace kvdyno
