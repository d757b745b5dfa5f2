// Prefix words: eight bytes of a key as a number, so that most comparisons need not touch the key.
//
// PrefixWords: bisection over sorted keys by eight bytes of each key beyond what all of them share.
// Owns the words, not the keys; eight words share a cache line, so that a search touches few.
// Immutable once built; safe from any thread then.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace chunkstore {

// The first eight bytes as a number that compares as they do; what is missing counts as zeros.
inline uint64_t PrefixWord(std::string_view bytes) {
  uint64_t word = 0;
  if (bytes.size() >= sizeof word) {
    std::memcpy(&word, bytes.data(), sizeof word);
  } else if (!bytes.empty()) {
    std::memcpy(&word, bytes.data(), bytes.size());
  }
  return __builtin_bswap64(word);
}

// What both begin with, and so every key between them in order.
inline std::string_view SharedPrefix(std::string_view a, std::string_view b) {
  const size_t shorter = std::min(a.size(), b.size());
  size_t shared = 0;
  while (shared < shorter && a[shared] == b[shared]) ++shared;
  return a.substr(0, shared);
}

class PrefixWords {
 public:
  // `key_at(i)` is the i-th of `count` keys, ascending, repetitions allowed.
  template <typename KeyAt>
  void Build(size_t count, const KeyAt& key_at) {
    common_.clear();
    words_.clear();
    if (count == 0) return;
    common_ = SharedPrefix(key_at(0), key_at(count - 1));
    words_.reserve(count);
    for (size_t i = 0; i < count; ++i) words_.push_back(WordOf(key_at(i)));
  }

  // Keys before `from` are smaller, keys at and after `to` larger than the one searched for; what
  // lies between must be compared whole.
  struct Range {
    size_t from, to;
  };
  Range Narrow(std::string_view key) const {
    const int order = key.substr(0, common_.size()).compare(common_);
    if (order < 0) return {0, 0};
    if (order > 0) return {words_.size(), words_.size()};
    const uint64_t word = WordOf(key);
    const auto from = std::lower_bound(words_.begin(), words_.end(), word);
    const auto to =
        from != words_.end() && *from == word ? std::upper_bound(from, words_.end(), word) : from;
    return {static_cast<size_t>(from - words_.begin()), static_cast<size_t>(to - words_.begin())};
  }

  size_t memory() const { return common_.capacity() + words_.capacity() * sizeof(uint64_t); }

 private:
  uint64_t WordOf(std::string_view key) const { return PrefixWord(key.substr(common_.size())); }

  std::string common_;
  std::vector<uint64_t> words_;
};

}  // namespace chunkstore
