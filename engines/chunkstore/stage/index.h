// StageIndex: a stage's entries in order, as skip lists over ranges of keys.
// One list over all keys would be as deep as the stage is large, and most of its nodes would be out
// of the CPU's caches; the chunks' minimal keys, known when a stage begins, cut it into short ones.
// Same rules as SkipList: inserts from any thread, reads without locks, nothing is removed.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "entry/entry.h"
#include "memory/arena.h"
#include "memory/prefix_words.h"
#include "memory/skiplist.h"

namespace chunkstore {

class StageIndex {
 public:
  // `separators` ascending: list i + 1 holds keys at or after separator i.
  StageIndex(Arena* arena, std::vector<std::string> separators);

  bool Insert(const Entry& entry) { return lists_[ListOf(entry.key)].Insert(entry); }
  bool Lookup(std::string_view key, Version version, Entry* entry) const {
    return lists_[ListOf(key)].Lookup(key, version, entry);
  }
  size_t count() const;

  class Cursor final : public EntryCursor {
   public:
    explicit Cursor(const StageIndex* index) : index_(index), inner_(&index->lists_.back()) {}
    void Seek(std::string_view key) override;
    bool Valid() const override { return inner_.Valid(); }
    void Next() override;
    const Entry& entry() const override { return inner_.entry(); }
    Status status() const override { return {}; }

   private:
    void SkipEmpty();
    const StageIndex* index_;
    size_t list_ = 0;
    SkipList::Cursor inner_;
  };

 private:
  size_t ListOf(std::string_view key) const;
  std::vector<std::string> separators_;
  PrefixWords words_;  // of the separators
  std::deque<SkipList> lists_;
};

}  // namespace chunkstore
