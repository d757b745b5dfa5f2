// Fences: every 32nd key of a shard, searched from a guess.
// The range of keys is cut into as many parts of one width as there are fences, and a guide holds where each part
// begins: where keys are spread evenly, the guide leaves a few fences to search, and at worst it leaves them all.
// Immutable once made, safe from any thread.
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sampling {

class Fences {
 public:
  static constexpr size_t kEvery = 32;  // entries

  // In order, then Finish.
  void Add(uint64_t key) { keys_.push_back(key); }
  void Finish() {
    if (keys_.empty()) return;
    shift_ = static_cast<int>(std::bit_width((keys_.back() - keys_.front()) / keys_.size()));
    guide_.reserve(PartOf(keys_.back()) + 2);
    for (size_t i = 0; i < keys_.size(); ++i) {
      const size_t part = PartOf(keys_[i]);
      while (guide_.size() <= part) guide_.push_back(static_cast<uint32_t>(i));
    }
    guide_.push_back(static_cast<uint32_t>(keys_.size()));
  }

  size_t size() const { return keys_.size(); }
  // How many fences are below the key.
  size_t Below(uint64_t key) const {
    if (keys_.empty() || key <= keys_.front()) return 0;
    if (key > keys_.back()) return keys_.size();
    const size_t part = PartOf(key);
    const uint64_t* base = keys_.data() + guide_[part];
    // Without a branch that the processor could guess wrongly.
    for (size_t left = guide_[part + 1] - guide_[part]; left > 0;) {
      const size_t half = (left + 1) / 2;
      base += half * static_cast<size_t>(base[half - 1] < key);
      left -= half;
    }
    return static_cast<size_t>(base - keys_.data());
  }
  // How many fences are at most the key, which `below` are below.
  size_t AtMost(uint64_t key, size_t below) const {
    if (below == keys_.size() || keys_[below] != key) return below;
    return key == UINT64_MAX ? keys_.size() : Below(key + 1);
  }
  size_t bytes() const {
    return keys_.capacity() * sizeof(uint64_t) + guide_.capacity() * sizeof(uint32_t);
  }

 private:
  size_t PartOf(uint64_t key) const { return (key - keys_.front()) >> shift_; }

  std::vector<uint64_t> keys_;
  std::vector<uint32_t> guide_;  // the first fence of each part, and their number behind the last
  int shift_ = 0;
};

}  // namespace sampling
