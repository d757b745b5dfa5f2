// KeyIndex: an ordered index over some runs of a log, from key and version to run and block.
// A byte string of groups of items. A key is stored as what it does not share with the one before
// it, a group's first key whole; a search bisects the first keys and walks one group. About 25
// bytes an item for keys of 23 bytes. Immutable; safe from any thread.
//
// The form in memory is that on disk (funk/warmth.h):
//   index = varint items · u64 least version · items
//   item  = varint bytes shared with the key before · varint length of the rest · rest ·
//           varint (version - least version) · varint run · varint block offset · varint block
//           length
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "funk/sorted_run.h"
#include "memory/prefix_words.h"

namespace chunkstore {

class KeyIndex {
 public:
  struct Item {
    Version version = 0;
    uint32_t run = 0;  // its place in the log
    BlockPlace block;  // in the run
  };

  // Walks the items in order. The index must outlive it.
  class Cursor {
   public:
    explicit Cursor(const KeyIndex* index) : index_(index) {}
    void SeekToFirst() { Enter(0); }
    void Seek(std::string_view key, Version version);  // the first at or after
    bool Valid() const { return valid_; }
    void Next();
    std::string_view key() const { return key_; }
    const Item& item() const { return item_; }

   private:
    void Enter(size_t group);

    const KeyIndex* index_;
    const char* next_ = nullptr;  // the item behind the current one
    std::string key_;
    Item item_;
    bool valid_ = false;
  };

  // From keys in entry order. A key's run is at `first_run` plus its number in the log.
  KeyIndex(const std::vector<SortedRunKey>& keys, uint32_t first_run);
  // From all runs of several for which CanMerge.
  explicit KeyIndex(std::span<const std::shared_ptr<const KeyIndex>> parts);
  // From what Encode appended. Null for bytes that are none, or that name a run at or above `runs`;
  // the order of keys is not looked at.
  static std::shared_ptr<const KeyIndex> Decode(std::string_view bytes, uint32_t runs);
  void Encode(std::string* to) const;

  // Whether offsets of all groups fit.
  static bool CanMerge(std::span<const std::shared_ptr<const KeyIndex>> parts);

  size_t size() const { return size_; }
  // The newest version of the key at or below `version`; false if there is none.
  bool Find(std::string_view key, Version version, Item* item) const;
  size_t memory() const;

 private:
  class Builder;
  KeyIndex() = default;
  // The group in which a search for the first item at or after (key, version) begins: it is there,
  // or the next group starts with it.
  size_t GroupOf(std::string_view key, Version version) const;
  std::string_view HeadOf(size_t group) const;
  void Seal();

  std::string bytes_;
  size_t size_ = 0;
  Version least_ = 0;
  std::vector<uint32_t> groups_;  // where each begins in bytes_
  PrefixWords words_;             // of their first keys
};

}  // namespace chunkstore
