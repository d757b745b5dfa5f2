// MunkArray: entries in order, written once and searched often.
// Owns the entries, one behind the other in one buffer, and a search tree over the first 8 bytes of
// each key beyond what all keys have in common: 16 of these fill two cache lines, so that a search
// costs few misses. Add and Seal by one thread; size and memory from any thread, the rest from any
// thread after Seal, which the owner publishes.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "entry/entry.h"
#include "memory/pages.h"

namespace chunkstore {

class MunkArray {
 public:
  explicit MunkArray(SparePages* spare) : records_(spare) {}
  // About so many entries will be added, of so many bytes of keys and values.
  void Expect(size_t entries, size_t bytes);
  void Add(const Entry& entry);  // in entry order
  void Seal();

  size_t size() const { return size_.load(std::memory_order_relaxed); }
  size_t memory() const { return memory_.load(std::memory_order_relaxed); }
  size_t heap_memory() const;  // of it, what the C library may keep once it is freed; when sealed
  Version newest() const { return newest_; }  // of all entries

  // The first entry at or after (key, version); size() if there is none.
  size_t LowerBound(std::string_view key, Version version) const;
  Entry At(size_t index) const;

 private:
  static constexpr size_t kFan = 16;
  static constexpr size_t kMaxLevels = 8;
  struct alignas(128) Group {
    uint64_t prefixes[kFan];
  };
  struct Header {
    Version version;
    uint32_t value_bytes;
    uint32_t key_bytes_and_type;  // the type in the lowest byte
  };

  uint64_t PrefixOf(std::string_view key) const;
  size_t FirstPrefixNotBelow(uint64_t prefix) const;
  uint64_t PrefixAt(size_t index) const { return tree_[index / kFan].prefixes[index % kFan]; }
  void BuildTree();

  GrowingBuffer records_;
  std::vector<uint32_t> places_;  // of each entry in records_, in steps of eight bytes
  std::string common_;            // the prefix of all keys
  // Level 0 holds all prefixes, each further level the first of every group of the one below.
  // Padded with the largest value.
  std::vector<Group> tree_;
  std::array<uint32_t, kMaxLevels> level_start_{};  // in groups
  size_t levels_ = 0;
  Version newest_ = 0;
  std::atomic<size_t> size_{0};
  std::atomic<size_t> memory_{0};
};

}  // namespace chunkstore
