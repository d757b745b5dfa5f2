#include "funk/key_index.h"

#include <unordered_map>
#include <utility>

namespace chunkstore {

KeyIndex::KeyIndex(const std::vector<RunKey>& keys, uint32_t first_run) {
  size_t bytes = 0;
  for (const RunKey& key : keys) bytes += key.key.size();
  keys_.reserve(bytes);
  items_.reserve(keys.size());
  for (const RunKey& key : keys) {
    Append(key.key, {key.version, 0, 0, first_run + key.run, key.block});
  }
  Seal();
}

KeyIndex::KeyIndex(const KeyIndex& older, const KeyIndex& newer) {
  keys_.reserve(older.keys_.size() + newer.keys_.size());
  items_.reserve(older.size() + newer.size());
  size_t a = 0;
  size_t b = 0;
  while (a < older.size() || b < newer.size()) {
    const bool from_older =
        b == newer.size() ||
        (a < older.size() && Compare(older.key(older.at(a)), older.at(a).version,
                                     newer.key(newer.at(b)), newer.at(b).version) < 0);
    const KeyIndex& source = from_older ? older : newer;
    const Item& item = source.at(from_older ? a++ : b++);
    Append(source.key(item), item);
  }
  Seal();
}

// Versions of one key share its bytes.
void KeyIndex::Append(std::string_view key, const Item& item) {
  Item added = item;
  if (!items_.empty() && this->key(items_.back()) == key) {
    added.key = items_.back().key;
  } else {
    added.key = static_cast<uint32_t>(keys_.size());
    keys_.append(key);
  }
  added.key_length = static_cast<uint32_t>(key.size());
  items_.push_back(added);
}

void KeyIndex::Seal() {
  words_.Build(items_.size(), [this](size_t i) { return key(items_[i]); });
}

size_t KeyIndex::LowerBound(std::string_view key, Version version) const {
  auto [from, to] = words_.Narrow(key);
  while (from < to) {
    const size_t middle = from + (to - from) / 2;
    const Item& item = items_[middle];
    if (Compare(this->key(item), item.version, key, version) < 0) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  return from;
}

size_t KeyIndex::memory() const {
  return sizeof *this + keys_.capacity() + items_.capacity() * sizeof(Item) + words_.memory();
}

namespace {

class IndexCursor final : public EntryCursor {
 public:
  IndexCursor(std::shared_ptr<const KeyIndex> index,
              const std::vector<std::shared_ptr<const Run>>& runs, const ReadContext& context)
      : index_(std::move(index)), runs_(runs), context_(context) {}

  void Seek(std::string_view key) override {
    status_ = {};
    at_ = index_->LowerBound(key, kNewest);
    Show();
  }
  bool Valid() const override { return valid_; }
  void Next() override {
    ++at_;
    Show();
  }
  const Entry& entry() const override { return entry_; }
  Status status() const override { return status_; }

 private:
  struct Place {
    HeldBlock held;
    uint32_t next = 0;  // where in the block the run's next item is likely to be
  };

  void Show() {
    valid_ = false;
    if (at_ == index_->size()) return;
    const KeyIndex::Item& item = index_->at(at_);
    const Run& run = *runs_[item.run];
    Place& place = places_[item.run];
    BlockView& view = place.held.view;
    if (view.size() == 0 || place.held.block != item.block) {
      status_ = run.Hold(context_, item.block, &place.held);
      if (!status_.ok()) return;
      place.next = 0;
    }
    const std::string_view key = index_->key(item);
    const auto here = [&] {
      if (place.next >= view.size()) return false;
      entry_ = view.at(place.next);
      return entry_.version == item.version && entry_.key == key;
    };
    if (!here()) {
      place.next = view.LowerBound(key, item.version);
      if (!here()) {
        status_ = run.MissingKey(item.block);
        return;
      }
    }
    ++place.next;
    valid_ = true;
  }

  const std::shared_ptr<const KeyIndex> index_;
  const std::vector<std::shared_ptr<const Run>>& runs_;
  const ReadContext context_;
  size_t at_ = 0;
  std::unordered_map<uint32_t, Place> places_;  // by run
  Entry entry_;
  bool valid_ = false;
  Status status_;
};

}  // namespace

std::unique_ptr<EntryCursor> NewIndexCursor(std::shared_ptr<const KeyIndex> index,
                                            const std::vector<std::shared_ptr<const Run>>& runs,
                                            const ReadContext& context) {
  return std::make_unique<IndexCursor>(std::move(index), runs, context);
}

}  // namespace chunkstore
