// SkipList: entries in order, inserted by any number of threads at once, read by any number without
// locks, never removed (Pugh 1990; insertion by compare-and-swap from the bottom up).
// Keys are copied into the arena; values are referenced and must outlive the list, unless copied
// by the caller. Freed with its arena.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/entry.h"
#include "memory/arena.h"

namespace chunkstore {

class SkipList {
 public:
  explicit SkipList(Arena* arena);

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
  struct Node;
  static constexpr int kMaxHeight = 14;
  Arena* arena_;
  Node* head_;
  std::atomic<int> height_{1};
  std::atomic<size_t> count_{0};
};

}  // namespace chunkstore
