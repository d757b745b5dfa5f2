#include "memory/skiplist.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstring>
#include <new>

#include "memory/prefix_words.h"

namespace chunkstore {
namespace {

// Branching 1/4. A thread's own generator (xorshift64*): heights need no quality, only speed.
int RandomHeight(int limit) {
  thread_local uint64_t state =
      0x9e3779b97f4a7c15u ^ reinterpret_cast<uintptr_t>(&state) * 0xbf58476d1ce4e5b9u;
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  const uint64_t bits = (state * 0x2545f4914f6cdd1du) >> 32 | uint64_t{1} << 32;
  const int height = 1 + std::countr_zero(bits) / 2;
  return height < limit ? height : limit;
}

}  // namespace

// A place in the order, with what comparisons need of it at hand.
struct SkipList::Target {
  uint64_t prefix;
  std::string_view key;
  Version version;
};

// In memory: links of the levels above the lowest, highest first · this · key bytes. So the lowest
// link, the prefix and the beginning of the key share a cache line more often than not.
struct SkipList::Node {
  std::atomic<Node*> lowest;
  uint64_t prefix;
  Version version;
  const char* value;
  uint32_t value_length;
  uint32_t key_length : 28;
  uint32_t type : 4;

  std::atomic<Node*>* link(int level) {
    return std::launder(reinterpret_cast<std::atomic<Node*>*>(
        reinterpret_cast<char*>(this) - static_cast<size_t>(level) * sizeof(std::atomic<Node*>)));
  }
  Node* next(int level) { return link(level)->load(std::memory_order_acquire); }
  char* key_data() { return reinterpret_cast<char*>(this + 1); }
  std::string_view key() { return {key_data(), key_length}; }

  bool Before(const Target& target) {
    if (prefix != target.prefix) return prefix < target.prefix;
    return Compare(key(), version, target.key, target.version) < 0;
  }
  bool Is(const Target& target) {
    return prefix == target.prefix && version == target.version && key() == target.key;
  }
  void Describe(Entry* entry) {
    entry->key = key();
    entry->value = {value, value_length};
    entry->version = version;
    entry->type = static_cast<EntryType>(type);
  }
};

SkipList::SkipList(Arena* arena, std::string_view shared) : arena_(arena), shared_(shared) {
  static_assert(offsetof(Node, lowest) == 0 && sizeof(Node) == 40);
  head_ = NewNode({0, {}, kNewest}, {}, kMaxHeight);
  for (auto& finger : fingers_) finger.store(head_, std::memory_order_relaxed);
}

// Keys without the shared prefix are beside all that are inserted: as if before the first word or
// behind the last, where whole keys are compared.
SkipList::Target SkipList::TargetOf(std::string_view key, Version version) const {
  const int order = key.substr(0, shared_.size()).compare(shared_);
  const uint64_t prefix = order == 0  ? PrefixWord(key.substr(shared_.size()))
                          : order < 0 ? 0
                                      : UINT64_MAX;
  return {prefix, key, version};
}

SkipList::Node* SkipList::NewNode(const Target& target, const Entry& entry, int height) {
  const size_t links = static_cast<size_t>(height - 1) * sizeof(std::atomic<Node*>);
  char* memory = arena_->Allocate(links + sizeof(Node) + entry.key.size());
  for (size_t at = 0; at < links; at += sizeof(std::atomic<Node*>)) {
    new (memory + at) std::atomic<Node*>(nullptr);
  }
  Node* node = new (memory + links) Node;
  node->lowest.store(nullptr, std::memory_order_relaxed);
  node->prefix = target.prefix;
  node->version = entry.version;
  node->value = entry.value.data();
  node->value_length = static_cast<uint32_t>(entry.value.size());
  node->key_length = static_cast<uint32_t>(entry.key.size()) & 0x0fffffffu;
  node->type = static_cast<uint32_t>(entry.type) & 0xfu;
  if (!entry.key.empty()) std::memcpy(node->key_data(), entry.key.data(), entry.key.size());
  return node;
}

SkipList::Node* SkipList::FindFirst(const Target& target) const {
  Node* before = head_;
  Node* known_after = nullptr;  // compared on the level above
  for (int level = height_.load(std::memory_order_relaxed) - 1;;) {
    Node* next = before->next(level);
    if (next != nullptr && next != known_after && next->Before(target)) {
      before = next;
    } else if (level == 0) {
      return next;
    } else {
      known_after = next;
      --level;
    }
  }
}

void SkipList::Advance(const Target& target, int level, Node** before, Node** after) {
  Node* next = (*before)->next(level);
  while (next != nullptr && next->Before(target)) {
    *before = next;
    next = next->next(level);
  }
  *after = next;
}

void SkipList::FindSplice(const Target& target, int height, Node** before, Node** after) const {
  Node* at = head_;
  Node* known_after = nullptr;
  // Levels that the list did not have when `height_` was read begin at the head.
  for (int level = std::max(height, height_.load(std::memory_order_relaxed)) - 1; level >= 0;
       --level) {
    Node* next = at->next(level);
    while (next != nullptr && next != known_after && next->Before(target)) {
      at = next;
      next = next->next(level);
    }
    known_after = next;
    if (level < height) {
      before[level] = at;
      after[level] = next;
    }
  }
}

// True when each level's finger is the node right before the target, as it is when keys ascend.
bool SkipList::FindSpliceByFingers(const Target& target, int height, Node** before,
                                   Node** after) const {
  for (int level = 0; level < height; ++level) {
    Node* finger = fingers_[static_cast<size_t>(level)].load(std::memory_order_acquire);
    if (finger != head_ && !finger->Before(target)) return false;
    Node* next = finger->next(level);
    if (next != nullptr && next->Before(target)) return false;
    before[level] = finger;
    after[level] = next;
  }
  return true;
}

void SkipList::RaiseHeight(int height) {
  int known = height_.load(std::memory_order_relaxed);
  while (known < height &&
         !height_.compare_exchange_weak(known, height, std::memory_order_relaxed)) {
  }
}

bool SkipList::Insert(const Entry& entry) {
  assert(entry.key.starts_with(shared_));
  const Target target = TargetOf(entry.key, entry.version);
  const int height = RandomHeight(kMaxHeight);
  Node* before[kMaxHeight];
  Node* after[kMaxHeight];
  if (!FindSpliceByFingers(target, height, before, after)) {
    FindSplice(target, height, before, after);
  }
  if (after[0] != nullptr && after[0]->Is(target)) return false;
  RaiseHeight(height);
  Node* node = NewNode(target, entry, height);
  // From the bottom up: a node that a search meets on some level is on all levels below. Each link
  // is published by a release, so a reader that follows it sees the whole node.
  for (int level = 0; level < height; ++level) {
    for (;;) {
      node->link(level)->store(after[level], std::memory_order_relaxed);
      if (before[level]->link(level)->compare_exchange_strong(
              after[level], node, std::memory_order_release, std::memory_order_relaxed)) {
        break;
      }
      Advance(target, level, &before[level], &after[level]);
      if (level == 0 && after[0] != nullptr && after[0]->Is(target)) return false;
    }
    fingers_[static_cast<size_t>(level)].store(node, std::memory_order_release);
  }
  count_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool SkipList::Lookup(std::string_view key, Version version, Entry* entry) const {
  Node* node = FindFirst(TargetOf(key, version));
  if (node == nullptr || node->key() != key) return false;
  node->Describe(entry);
  return true;
}

void SkipList::Cursor::Seek(std::string_view key) {
  Node* node = list_->FindFirst(list_->TargetOf(key, kNewest));
  node_ = node;
  if (node != nullptr) node->Describe(&entry_);
}

void SkipList::Cursor::Next() {
  Node* node = static_cast<Node*>(const_cast<void*>(node_))->next(0);
  node_ = node;
  if (node == nullptr) return;
  node->Describe(&entry_);
  __builtin_prefetch(node->next(0));
}

}  // namespace chunkstore
