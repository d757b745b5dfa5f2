// Bloom filters: of a table's keys, and of the parts of a log, the published way to find a key there
// (EvenDB, section 3.2).
// A BloomFilter summarises a set of hashes (Bloom 1970; two hashes combined as by Kirsch &
// Mitzenmacher 2006). A BloomPiece is one filter over consecutive runs of a log. Immutable; safe
// from any thread.
//
// On disk: u32 probes · u64 words; nothing: no filter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace chunkstore {

class BloomFilter {
 public:
  BloomFilter() = default;  // none, which may contain everything
  BloomFilter(const std::vector<uint64_t>& hashes, double bits_per_key);
  // Never false for a hash of the set.
  bool MayContain(uint64_t hash) const;
  void Encode(std::string* to) const;
  // False, and the filter is as before, for bytes that none encodes to.
  static bool Decode(std::string_view bytes, BloomFilter* filter);
  size_t memory() const { return words_.capacity() * sizeof(uint64_t); }

 private:
  uint64_t bits_ = 0;
  int probes_ = 0;
  std::vector<uint64_t> words_;
};

struct BloomPiece {
  uint32_t first_run = 0;  // in the log
  uint32_t end_run = 0;
  uint64_t bytes = 0;  // of these runs
  BloomFilter filter;
  // What the filter was made from, as long as the piece may grow: a filter cannot.
  std::vector<uint64_t> hashes;
  size_t memory() const {
    return sizeof *this + filter.memory() + hashes.capacity() * sizeof(uint64_t);
  }
};

}  // namespace chunkstore
