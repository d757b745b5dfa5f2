#include "memory/munk.h"

#include <cassert>
#include <utility>

#include "hooks/seeded_bugs.h"
#include "memory/prefix_words.h"

namespace chunkstore {
namespace {

// Most munks are never written to, and there may be very many.
constexpr size_t kFirstArenaBytes = 512;
// Small enough that a munk takes little more than it holds, and that allocators keep blocks which
// are given back, instead of asking the system for new pages.
constexpr size_t kLargestArenaBytes = size_t{64} << 10;

// What all keys in a range share; without an upper bound they need not share anything.
std::string_view SharedBy(std::string_view min_key, std::string_view max_key) {
  return max_key.empty() ? max_key : SharedPrefix(min_key, max_key);
}

}  // namespace

// Merges array and list; what is in both comes once.
class Munk::Cursor final : public EntryCursor {
 public:
  explicit Cursor(const Munk* munk) : munk_(munk), list_(&munk->list_) {}

  void Seek(std::string_view key) override {
    index_ = munk_->array_.LowerBound(key, kNewest);
    list_.Seek(key);
    LoadArray();
    Choose();
  }
  bool Valid() const override { return current_ != nullptr; }
  void Next() override {
    const bool from_array = current_ == &in_array_;
    if (from_array || both_) {
      ++index_;
      LoadArray();
    }
    if (!from_array || both_) list_.Next();
    Choose();
  }
  const Entry& entry() const override { return *current_; }
  Status status() const override { return {}; }

 private:
  void LoadArray() {
    if (index_ < munk_->array_.size()) in_array_ = munk_->array_.At(index_);
  }
  void Choose() {
    const bool in_array = index_ < munk_->array_.size();
    both_ = false;
    if (in_array && list_.Valid()) {
      const Entry& in_list = list_.entry();
      const int order = Compare(in_array_.key, in_array_.version, in_list.key, in_list.version);
      both_ = order == 0;
      current_ = order <= 0 ? &in_array_ : &in_list;
    } else if (in_array) {
      current_ = &in_array_;
    } else {
      current_ = list_.Valid() ? &list_.entry() : nullptr;
    }
  }

  const Munk* munk_;
  SkipList::Cursor list_;
  size_t index_ = 0;
  Entry in_array_;
  const Entry* current_ = nullptr;
  bool both_ = false;  // array and list stand on the same entry
};

Munk::Munk(std::string min_key, std::string max_key, SparePages* spare)
    : min_key_(std::move(min_key)),
      max_key_(std::move(max_key)),
      values_(kFirstArenaBytes, kLargestArenaBytes),
      nodes_(kFirstArenaBytes, kLargestArenaBytes),
      list_(&nodes_, SharedBy(min_key_, max_key_)),
      array_(spare) {}

Munk::~Munk() = default;

void Munk::Insert(const Entry& entry) {
  assert(Covers(entry.key));
  // Sequentially consistent like the announcement of pending writes: a writer that sees no
  // successor yet is one that their maker waits for before it copies the list. Successors first: a
  // reader that goes over to them misses nothing that it could have seen here.
  const std::vector<Munk*>* successors = successors_.load();
  if (successors != nullptr && !Seeded(Bug::kMunkMissesSuccessor)) {
    for (Munk* successor : *successors) {
      if (successor->Covers(entry.key)) successor->Insert(entry);
    }
  }
  Entry copy = entry;
  copy.value = values_.Copy(entry.value);
  list_.Insert(copy);
}

void Munk::Fill(const Entry& entry) {
  assert(!active() && Covers(entry.key));
  array_.Add(entry);
}

void Munk::Activate() {
  array_.Seal();
  active_.store(true, std::memory_order_release);
}

bool Munk::Lookup(std::string_view key, Version version, Entry* entry) const {
  assert(active());
  const bool in_list = !list_.empty() && list_.Lookup(key, version, entry);
  if (in_list && entry->version >= array_.newest()) return true;
  const size_t index = array_.LowerBound(key, version);
  if (index == array_.size()) return in_list;
  const Entry in_array = array_.At(index);
  if (in_array.key != key || (in_list && in_array.version <= entry->version)) return in_list;
  *entry = in_array;
  return true;
}

std::unique_ptr<EntryCursor> Munk::NewCursor() const {
  assert(active());
  return std::make_unique<Cursor>(this);
}

void Munk::SetSuccessors(std::vector<Munk*> successors) {
  successor_lists_.push_back(std::make_unique<const std::vector<Munk*>>(std::move(successors)));
  successors_.store(successor_lists_.back().get());
}

size_t Munk::memory() const {
  return sizeof *this + min_key_.capacity() + max_key_.capacity() + appended_memory() +
         array_.memory();
}

}  // namespace chunkstore
