// KeyIndex: an ordered index over some runs of a log, from key and version to run and block.
// Keys lie back to back in one string, entries are of fixed size. Immutable; safe from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "funk/run.h"
#include "memory/prefix_words.h"

namespace chunkstore {

class KeyIndex {
 public:
  struct Item {
    Version version = 0;
    uint32_t key = 0;  // its offset in keys_
    uint32_t key_length = 0;
    uint32_t run = 0;  // its place in the log
    uint32_t block = 0;
  };

  // Of keys in entry order. The place in the log of a key's run is `first_run` and what it says.
  KeyIndex(const std::vector<RunKey>& keys, uint32_t first_run);
  // Of all runs of two, of which CanMerge.
  KeyIndex(const KeyIndex& older, const KeyIndex& newer);

  // Whether offsets of all keys fit into an item.
  static bool CanMerge(const KeyIndex& a, const KeyIndex& b) {
    return a.keys_.size() + b.keys_.size() <= UINT32_MAX;
  }

  size_t size() const { return items_.size(); }
  const Item& at(size_t i) const { return items_[i]; }
  std::string_view key(const Item& item) const {
    return {keys_.data() + item.key, item.key_length};
  }
  // The first item at or after (key, version); size() if there is none.
  size_t LowerBound(std::string_view key, Version version) const;
  size_t memory() const;

 private:
  void Append(std::string_view key, const Item& item);
  void Seal();

  std::string keys_;
  std::vector<Item> items_;
  PrefixWords words_;
};

// Walks the index, and of each run holds the block last needed. `runs` are the log's; all must
// outlive the cursor.
std::unique_ptr<EntryCursor> NewIndexCursor(std::shared_ptr<const KeyIndex> index,
                                            const std::vector<std::shared_ptr<const Run>>& runs,
                                            const ReadContext& context);

}  // namespace chunkstore
