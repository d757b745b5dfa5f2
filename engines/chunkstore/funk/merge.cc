#include <algorithm>
#include <utility>

#include "funk/log.h"

namespace chunkstore {

namespace {

// A binary heap of cursors, the one with the smallest entry on top; among equals the one given
// first.
class MergingCursor final : public EntryCursor {
 public:
  explicit MergingCursor(std::vector<std::unique_ptr<EntryCursor>> cursors)
      : cursors_(std::move(cursors)) {
    heap_.reserve(cursors_.size());
  }

  void Seek(std::string_view key) override {
    heap_.clear();
    status_ = {};
    for (size_t i = 0; i < cursors_.size() && status_.ok(); ++i) {
      cursors_[i]->Seek(key);
      if (cursors_[i]->Valid()) {
        heap_.push_back({&cursors_[i]->entry(), cursors_[i].get(), i});
      } else {
        status_ = cursors_[i]->status();
      }
    }
    if (!status_.ok()) return heap_.clear();
    for (size_t i = heap_.size() / 2; i-- > 0;) Sink(i);
  }

  bool Valid() const override { return !heap_.empty(); }
  const Entry& entry() const override { return *heap_.front().entry; }
  Status status() const override { return status_; }

  void Next() override {
    // Equal entries lie right below the top; they go first, while the top's key is still there.
    while (heap_.size() > 1) {
      const size_t second = heap_.size() > 2 && Before(heap_[2], heap_[1]) ? 2 : 1;
      if (Order(*heap_[second].entry, *heap_.front().entry) != 0) break;
      if (!Advance(second)) return;
    }
    Advance(0);
  }

 private:
  struct Item {
    const Entry* entry;
    EntryCursor* cursor;
    size_t rank;
  };
  static int Order(const Entry& a, const Entry& b) {
    return Compare(a.key, a.version, b.key, b.version);
  }
  static bool Before(const Item& a, const Item& b) {
    const int order = Order(*a.entry, *b.entry);
    return order < 0 || (order == 0 && a.rank < b.rank);
  }

  // False, and the heap empty, after an error.
  bool Advance(size_t at) {
    Item& item = heap_[at];
    item.cursor->Next();
    if (item.cursor->Valid()) {
      item.entry = &item.cursor->entry();
    } else {
      status_ = item.cursor->status();
      if (!status_.ok()) {
        heap_.clear();
        return false;
      }
      // The last item may belong above this place, but only where this is not its ancestor's
      // subtree; places 0 to 2, the only ones asked for, have no parent but the top, which is
      // smallest.
      item = heap_.back();
      heap_.pop_back();
    }
    if (at < heap_.size()) Sink(at);
    return true;
  }

  void Sink(size_t at) {
    const Item item = heap_[at];
    for (;;) {
      size_t child = 2 * at + 1;
      if (child >= heap_.size()) break;
      if (child + 1 < heap_.size() && Before(heap_[child + 1], heap_[child])) ++child;
      if (!Before(heap_[child], item)) break;
      heap_[at] = heap_[child];
      at = child;
    }
    heap_[at] = item;
  }

  std::vector<std::unique_ptr<EntryCursor>> cursors_;
  std::vector<Item> heap_;
  Status status_;
};

}  // namespace

std::unique_ptr<EntryCursor> NewMergingCursor(std::vector<std::unique_ptr<EntryCursor>> cursors) {
  if (cursors.size() == 1) return std::move(cursors.front());
  return std::make_unique<MergingCursor>(std::move(cursors));
}

}  // namespace chunkstore
