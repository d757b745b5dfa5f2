// Entry: one version of one key, the unit that every layer of the store passes on.
// Owns the order of entries and the shape of versions. Plain values.
#pragma once

#include <cstdint>
#include <string_view>

#include "kvdyno/base/status.h"

namespace chunkstore {

using kvdyno::Code;
using kvdyno::Status;

// The store's clock: every write takes the next one. The upper 16 bits are the epoch, which rises
// with every recovery, the lower 48 bits a number that never stops growing; both together only
// grow.
using Version = uint64_t;
inline constexpr int kEpochShift = 48;
inline constexpr uint64_t kMaxEpoch = (uint64_t{1} << (64 - kEpochShift)) - 1;
inline constexpr Version kNumberMask = (Version{1} << kEpochShift) - 1;
inline constexpr Version kNewest = UINT64_MAX;
inline uint64_t EpochOf(Version version) { return version >> kEpochShift; }
inline uint64_t NumberOf(Version version) { return version & kNumberMask; }
inline Version MakeVersion(uint64_t epoch, uint64_t number) {
  return epoch << kEpochShift | number;
}

enum class EntryType : uint8_t { kValue = 1, kDeletion = 2 };

struct Entry {
  std::string_view key;
  std::string_view value;  // empty for a deletion
  Version version = 0;
  EntryType type = EntryType::kValue;
};

// Entries are ordered by key, and within a key from the newest to the oldest.
inline int Compare(std::string_view a_key, Version a, std::string_view b_key, Version b) {
  const int order = a_key.compare(b_key);
  if (order != 0) return order;
  return a > b ? -1 : (a < b ? 1 : 0);
}

// Walks entries upwards in that order. One thread. Views live until the next movement (and while
// the operation is pinned, see concurrency/slots.h). After an error Valid() is false.
class EntryCursor {
 public:
  virtual ~EntryCursor() = default;
  // To the first entry whose key is at or after `key`; an empty key is the first of all.
  virtual void Seek(std::string_view key) = 0;
  virtual bool Valid() const = 0;
  virtual void Next() = 0;
  virtual const Entry& entry() const = 0;
  virtual Status status() const = 0;
};

}  // namespace chunkstore
