#include "stage/index.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace chunkstore {

StageIndex::StageIndex(Arena* arena, std::vector<std::string> separators)
    : separators_(std::move(separators)) {
  words_.Build(separators_.size(), [this](size_t i) -> std::string_view { return separators_[i]; });
  for (size_t i = 0; i <= separators_.size(); ++i) {
    const bool bounded = i > 0 && i < separators_.size();
    lists_.emplace_back(
        arena, bounded ? SharedPrefix(separators_[i - 1], separators_[i]) : std::string_view());
  }
}

// As many separators as are at or before the key.
size_t StageIndex::ListOf(std::string_view key) const {
  if (separators_.empty()) return 0;
  const PrefixWords::Range range = words_.Narrow(key);
  const auto begin = separators_.begin();
  return static_cast<size_t>(std::upper_bound(begin + static_cast<long>(range.from),
                                              begin + static_cast<long>(range.to), key) -
                             begin);
}

size_t StageIndex::count() const {
  return std::accumulate(lists_.begin(), lists_.end(), size_t{0},
                         [](size_t sum, const SkipList& list) { return sum + list.count(); });
}

void StageIndex::Cursor::Seek(std::string_view key) {
  list_ = index_->ListOf(key);
  inner_ = SkipList::Cursor(&index_->lists_[list_]);
  inner_.Seek(key);
  SkipEmpty();
}

void StageIndex::Cursor::Next() {
  inner_.Next();
  SkipEmpty();
}

void StageIndex::Cursor::SkipEmpty() {
  while (!inner_.Valid() && list_ + 1 < index_->lists_.size()) {
    inner_ = SkipList::Cursor(&index_->lists_[++list_]);
    inner_.Seek({});
  }
}

}  // namespace chunkstore
