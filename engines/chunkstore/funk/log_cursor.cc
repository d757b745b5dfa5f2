#include "funk/log_cursor.h"

#include <algorithm>
#include <utility>

namespace chunkstore {

LogCursor::LogCursor(std::vector<std::shared_ptr<const KeyIndex>> parts,
                     const std::vector<ExtentRef>& runs, const ReadContext& context,
                     const LogRead& read)
    : parts_(std::move(parts)), runs_(runs), context_(context), read_(read) {
  for (const auto& part : parts_) cursors_.emplace_back(part.get());
}

void LogCursor::Seek(std::string_view key) {
  status_ = {};
  has_last_ = false;
  for (KeyIndex::Cursor& cursor : cursors_) cursor.Seek(key, kNewest);
  room_ = 1;
  if (read_.before.empty()) {
    room_ = read_.keys == 0 ? kLargestWindow : std::min(read_.keys, kLargestWindow);
  }
  FillWindow();
  Show();
}

void LogCursor::Next() {
  if (++at_ == items_.size()) FillWindow();
  Show();
}

// Few parts: a log has one for each power of its merge ratio.
KeyIndex::Cursor* LogCursor::Least() {
  KeyIndex::Cursor* least = nullptr;
  for (KeyIndex::Cursor& cursor : cursors_) {
    if (!cursor.Valid()) continue;
    if (least == nullptr ||
        Compare(cursor.key(), cursor.item().version, least->key(), least->item().version) < 0) {
      least = &cursor;
    }
  }
  return least;
}

KeyIndex::Cursor* LogCursor::NextSeen() {
  KeyIndex::Cursor* next = Least();
  while (next != nullptr && (next->item().version > read_.version ||
                             (has_last_ && next->key() == std::string_view(last_)))) {
    next->Next();
    next = Least();
  }
  return next;
}

// All that the read expects to see is read at once. Beyond that, only as much as has shown to be
// needed: a merge looks at one entry that it does not return.
size_t LogCursor::Room(std::string_view next) {
  if (!read_.before.empty() && next < read_.before) return kLargestWindow;
  return std::exchange(room_, std::min(2 * room_, kLargestWindow));
}

void LogCursor::FillWindow() {
  items_.clear();
  keys_.clear();
  blocks_.clear();
  block_bytes_ = 0;
  at_ = 0;
  KeyIndex::Cursor* next = NextSeen();
  if (next == nullptr) return;
  const bool expected = !read_.before.empty() && next->key() < read_.before;
  for (const size_t room = Room(next->key()); next != nullptr && items_.size() < room;) {
    if (expected && next->key() >= read_.before) break;
    const size_t more = next->item().block.length;
    if (!blocks_.empty() && block_bytes_ + more > kLargestWindowBytes) break;
    Take(*next);
    next->Next();
    next = NextSeen();
  }
  status_ = HoldTogether(context_, &blocks_);
}

void LogCursor::Take(const KeyIndex::Cursor& at) {
  last_ = at.key();
  has_last_ = true;
  const KeyIndex::Item& place = at.item();
  const ExtentRef& run = runs_[place.run];
  const auto same = std::find_if(blocks_.begin(), blocks_.end(), [&](const WantedBlock& block) {
    return block.extent == run && block.place == place.block;
  });
  const auto block = static_cast<size_t>(same - blocks_.begin());
  if (same == blocks_.end()) {
    blocks_.push_back({run, place.block, {}, {}, {}});
    block_bytes_ += place.block.length;
  }
  items_.push_back({keys_.size(), last_.size(), place, block});
  keys_.append(last_);
}

void LogCursor::Show() {
  valid_ = false;
  if (!status_.ok() || at_ == items_.size()) return;
  const Item& item = items_[at_];
  const WantedBlock& block = blocks_[item.block];
  const std::string_view key = std::string_view(keys_).substr(item.key_at, item.key_length);
  const uint32_t ordinal = block.view.LowerBound(key, item.place.version);
  if (ordinal < block.view.size()) entry_ = block.view.at(ordinal);
  valid_ = ordinal < block.view.size() && entry_.version == item.place.version && entry_.key == key;
  if (!valid_) status_ = MissingKey(context_, block.extent, block.place);
}

}  // namespace chunkstore
