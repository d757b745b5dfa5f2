// SkipList: entries in order, inserted by any number of threads at once, read by any number without
// locks, never removed (Pugh 1990; insertion by compare-and-swap from the bottom up).
// Keys are copied into the arena; values are referenced and must outlive the list, unless copied
// by the caller. Freed with its arena. Ascending insertion takes constant time: each level
// remembers where it was last inserted at.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "entry/entry.h"
#include "memory/arena.h"

namespace chunkstore {

class SkipList {
 public:
  // `shared`: what all inserted keys begin with, so that eight bytes beyond it distinguish most.
  // Must outlive the list.
  explicit SkipList(Arena* arena, std::string_view shared = {});

  // False, and nothing happens, when the same key and version is already there.
  bool Insert(const Entry& entry);

  // The newest version of the key at or below `version`; false when there is none. The entry's
  // views live as long as the list and what its value refers to.
  bool Lookup(std::string_view key, Version version, Entry* entry) const;

  size_t count() const { return count_.load(std::memory_order_relaxed); }
  bool empty() const { return count() == 0; }

  class Cursor final : public EntryCursor {
   public:
    explicit Cursor(const SkipList* list) : list_(list) {}
    void Seek(std::string_view key) override;
    bool Valid() const override { return node_ != nullptr; }
    void Next() override;
    const Entry& entry() const override { return entry_; }
    Status status() const override { return {}; }

   private:
    const SkipList* list_;
    const void* node_ = nullptr;
    Entry entry_;
  };

 private:
  friend class Cursor;
  struct Node;
  struct Target;
  static constexpr int kMaxHeight = 14;

  Target TargetOf(std::string_view key, Version version) const;
  Node* NewNode(const Target& target, const Entry& entry, int height);
  // The first node at or after the target.
  Node* FindFirst(const Target& target) const;
  // The last node before the target on the lowest `height` levels, and what follows it there.
  void FindSplice(const Target& target, int height, Node** before, Node** after) const;
  bool FindSpliceByFingers(const Target& target, int height, Node** before, Node** after) const;
  static void Advance(const Target& target, int level, Node** before, Node** after);
  void RaiseHeight(int height);

  Arena* arena_;
  std::string_view shared_;
  Node* head_;
  std::atomic<int> height_{1};
  alignas(64) std::atomic<size_t> count_{0};
  std::array<std::atomic<Node*>, kMaxHeight> fingers_;  // the last node inserted on each level
};

}  // namespace chunkstore
