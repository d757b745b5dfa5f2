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

class PrefixWords {
 public:
  // `key_at(i)` is the i-th of `count` keys, ascending, repetitions allowed.
  template <typename KeyAt>
  void Build(size_t count, const KeyAt& key_at) {
    common_.clear();
    words_.clear();
    if (count == 0) return;
    // Keys are sorted, so what the outermost share is shared by all.
    const std::string_view first = key_at(0), last = key_at(count - 1);
    const size_t shorter = std::min(first.size(), last.size());
    size_t shared = 0;
    while (shared < shorter && first[shared] == last[shared]) ++shared;
    common_ = first.substr(0, shared);
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
  // The bytes behind the common prefix as a number that compares as they do; a key that ends early
  // looks like one with zeros.
  uint64_t WordOf(std::string_view key) const {
    uint64_t word = 0;
    const size_t bytes = std::min<size_t>(key.size() - common_.size(), sizeof word);
    if (bytes > 0) std::memcpy(&word, key.data() + common_.size(), bytes);
    return __builtin_bswap64(word);
  }

  std::string common_;
  std::vector<uint64_t> words_;
};

}  // namespace chunkstore
