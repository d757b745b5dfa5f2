// GhostList: which keys left a cache recently; shows what a larger cache would have served.
// Holds 32-bit hashes with the time of leaving, in buckets of four of which the oldest gives way,
// so that it is one cache line to ask and eight bytes to remember. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace chunkstore {

class GhostList {
 public:
  // Remembers the last `keys` that left (a few are forgotten earlier where a bucket overflows).
  // Forgets everything when its table must grow or shrink much.
  void Resize(size_t keys) {
    keys_ = keys;
    size_t buckets = 1;
    while (buckets * kWays < keys + keys / 2) buckets *= 2;
    if (keys == 0) buckets = 0;
    if (buckets > buckets_.size() || buckets * 4 <= buckets_.size()) {
      std::vector<Bucket>(buckets).swap(buckets_);
    }
  }

  void Add(uint32_t hash) {
    if (buckets_.empty()) return;
    Bucket& bucket = BucketOf(hash);
    ++now_;
    size_t oldest = 0;
    for (size_t i = 1; i < kWays; ++i) {
      if (now_ - bucket.left[i] > now_ - bucket.left[oldest]) oldest = i;
    }
    bucket.hash[oldest] = hash;
    bucket.left[oldest] = now_;
  }

  // Whether the key left recently; if so it is forgotten, for it is about to come back.
  bool Take(uint32_t hash) {
    if (buckets_.empty()) return false;
    Bucket& bucket = BucketOf(hash);
    for (size_t i = 0; i < kWays; ++i) {
      if (bucket.hash[i] != hash || bucket.left[i] == 0 || now_ - bucket.left[i] >= keys_) continue;
      bucket.left[i] = 0;
      return true;
    }
    return false;
  }

  size_t keys() const { return keys_; }
  size_t memory() const { return buckets_.capacity() * sizeof(Bucket); }

 private:
  static constexpr size_t kWays = 4;
  struct Bucket {
    uint32_t hash[kWays] = {};
    uint32_t left[kWays] = {};  // number of the departure, 0: never; wraps harmlessly
  };
  Bucket& BucketOf(uint32_t hash) {
    return buckets_[(hash * 0x9e3779b1u >> 8) & (buckets_.size() - 1)];
  }

  size_t keys_ = 0;
  uint32_t now_ = 0;
  std::vector<Bucket> buckets_;  // a power of two
};

}  // namespace chunkstore
