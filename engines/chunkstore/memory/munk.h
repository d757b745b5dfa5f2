// Munk: a chunk's whole content in memory, newest writes included.
// A sorted array, immutable (munk_array.h), and a skip list of what was written since. Merging the
// two (a munk rebalance) makes a new munk.
//
// Life: a munk is published while `loading`: writers insert into it from then on, readers ignore
// it. Its maker waits for pending writes, fills the array with all that was written before, and
// activates it. A munk being replaced names its successors, and writers insert into those too, so
// that nothing is lost between the copy and the switch.
//
// Threads: Insert, Lookup and cursors from any thread that is pinned (concurrency/slots.h); Fill,
// Activate and SetSuccessors by background work, one at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "entry/entry.h"
#include "memory/arena.h"
#include "memory/munk_array.h"
#include "memory/skiplist.h"

namespace chunkstore {

class Munk {
 public:
  // Holds keys in [min_key, max_key); an empty max_key has no bound. `spare`: see GrowingBuffer.
  Munk(std::string min_key, std::string max_key, SparePages* spare = nullptr);
  ~Munk();

  bool Covers(std::string_view key) const {
    return key >= min_key_ && (max_key_.empty() || key < max_key_);
  }
  std::string_view min_key() const { return min_key_; }
  std::string_view max_key() const { return max_key_; }

  // Copies key and value, and inserts into the successors that cover the key.
  void Insert(const Entry& entry);
  // About so many entries will come, of so many bytes of keys and values. Before Fill.
  void Expect(size_t entries, size_t bytes) { array_.Expect(entries, bytes); }
  // In entry order. Before Activate; one thread.
  void Fill(const Entry& entry);
  // Readers may use it from now on.
  void Activate();
  bool active() const { return active_.load(std::memory_order_acquire); }

  // The newest version at or below `version`; only when active.
  bool Lookup(std::string_view key, Version version, Entry* entry) const;
  std::unique_ptr<EntryCursor> NewCursor() const;

  // Munks (one or two; kept alive by the caller until readers have left) that replace this one.
  void SetSuccessors(std::vector<Munk*> successors);

  size_t memory() const;                                       // all of it, in bytes
  size_t heap_memory() const { return array_.heap_memory(); }  // as MunkArray has it; when active
  // Bytes of the skip list and its nodes: for small rows more than keys and values.
  size_t appended_memory() const { return values_.bytes() + nodes_.bytes(); }
  size_t appended() const { return list_.count(); }
  size_t entries() const { return array_.size() + list_.count(); }

 private:
  class Cursor;

  std::string min_key_, max_key_;
  std::atomic<bool> active_{false};
  Arena values_;  // of what is in the list
  Arena nodes_;   // of the list, close together, for a search visits many
  SkipList list_;
  MunkArray array_;
  std::atomic<const std::vector<Munk*>*> successors_{nullptr};
  // All that were ever set, for writers may still hold an earlier list.
  std::vector<std::unique_ptr<const std::vector<Munk*>>> successor_lists_;
};

}  // namespace chunkstore
