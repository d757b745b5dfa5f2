#include "core/chunk.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

namespace chunkstore {

namespace {

// The first eight bytes as a number that compares as the bytes do.
uint64_t LeadingWord(std::string_view bytes) {
  uint64_t word = 0;
  std::memcpy(&word, bytes.data(), std::min<size_t>(bytes.size(), 8));
  return __builtin_bswap64(word);
}

}  // namespace

ChunkMap::ChunkMap(std::vector<Chunk*> chunks) : chunks_(std::move(chunks)) {
  assert(!chunks_.empty() && chunks_.front()->min_key.empty());
  if (chunks_.size() == 1) return;
  // Keys are sorted, so what the outermost share is shared by all.
  const std::string& first = chunks_[1]->min_key;
  const std::string& last = chunks_.back()->min_key;
  const size_t length = std::min(first.size(), last.size());
  common_ = first.substr(
      0, static_cast<size_t>(std::mismatch(first.begin(), first.begin() + static_cast<long>(length),
                                           last.begin())
                                 .first -
                             first.begin()));
  words_.reserve(chunks_.size() - 1);
  for (size_t i = 1; i < chunks_.size(); ++i) words_.push_back(WordOf(chunks_[i]->min_key));
}

uint64_t ChunkMap::WordOf(std::string_view key) const {
  return LeadingWord(key.substr(common_.size()));
}

// The last chunk whose minimal key is at or before the key.
size_t ChunkMap::Position(std::string_view key) const {
  if (words_.empty()) return 0;
  const int order = key.substr(0, common_.size()).compare(common_);
  if (order < 0) return 0;
  if (order > 0) return words_.size();
  const uint64_t word = WordOf(key);
  auto at = static_cast<size_t>(std::upper_bound(words_.begin(), words_.end(), word) -
                                words_.begin());
  // Equal words say nothing about what follows them (and a short key looks like one with zeros).
  while (at > 0 && words_[at - 1] == word && chunks_[at]->min_key > key) --at;
  return at;
}

}  // namespace chunkstore
