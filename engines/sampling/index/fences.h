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
    first_ = keys_.front();
    last_ = keys_.back();
    shift_ = static_cast<int>(std::bit_width((last_ - first_) / keys_.size()));
    guide_.reserve(PartOf(last_) + 2);
    for (size_t i = 0; i < keys_.size(); ++i) {
      const size_t part = PartOf(keys_[i]);
      while (guide_.size() <= part) guide_.push_back(static_cast<uint32_t>(i));
    }
    guide_.push_back(static_cast<uint32_t>(keys_.size()));
  }

  size_t size() const { return keys_.size(); }
  // Prefetches what Below reads, the guide at step 0 and then, by what it holds, the fences at step 1.
  void Approach(uint64_t key, int step) const {
    if (key <= first_ || key > last_) return;
    const uint32_t* const part = guide_.data() + PartOf(key);
    __builtin_prefetch(step == 0 ? static_cast<const void*>(part) : keys_.data() + *part);
  }
  // How many fences are below the key.
  size_t Below(uint64_t key) const {
    if (keys_.empty() || key <= first_) return 0;
    if (key > last_) return keys_.size();
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
  size_t PartOf(uint64_t key) const { return (key - first_) >> shift_; }

  std::vector<uint64_t> keys_;
  std::vector<uint32_t> guide_;  // the first fence of each part, and their number behind the last
  uint64_t first_ = UINT64_MAX, last_ = 0;  // of the keys, here so that most searches read no more
  int shift_ = 0;
};

}  // namespace sampling
