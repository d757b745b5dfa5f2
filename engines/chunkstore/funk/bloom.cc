#include "funk/bloom.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "kvdyno/base/coding.h"

namespace chunkstore {

namespace {

constexpr int kMostProbes = 30;

// Maps a number evenly to [0, range) without a division.
uint64_t Reduce(uint64_t number, uint64_t range) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>(static_cast<Wide>(number) * range >> 64);
}

// The second of the two hashes; odd, so that the probes do not stand still.
uint64_t Step(uint64_t hash) { return hash * 0x9e3779b97f4a7c15u | 1; }

}  // namespace

BloomFilter::BloomFilter(const std::vector<uint64_t>& hashes, double bits_per_key)
    : probes_(std::clamp(static_cast<int>(std::lround(bits_per_key * std::numbers::ln2)), 1,
                         kMostProbes)) {
  const double wanted = std::ceil(bits_per_key * static_cast<double>(hashes.size()));
  words_.resize(std::max<size_t>(1, (static_cast<size_t>(wanted) + 63) / 64));
  bits_ = words_.size() * 64;
  for (uint64_t hash : hashes) {
    const uint64_t step = Step(hash);
    for (int i = 0; i < probes_; ++i, hash += step) {
      const uint64_t bit = Reduce(hash, bits_);
      words_[bit / 64] |= uint64_t{1} << bit % 64;
    }
  }
}

bool BloomFilter::MayContain(uint64_t hash) const {
  const uint64_t step = Step(hash);
  for (int i = 0; i < probes_; ++i, hash += step) {
    const uint64_t bit = Reduce(hash, bits_);
    if ((words_[bit / 64] >> bit % 64 & 1) == 0) return false;
  }
  return true;
}

void BloomFilter::Encode(std::string* to) const {
  if (words_.empty()) return;
  kvdyno::AppendFixed(to, static_cast<uint32_t>(probes_));
  for (const uint64_t word : words_) kvdyno::AppendFixed(to, word);
}

bool BloomFilter::Decode(std::string_view bytes, BloomFilter* filter) {
  BloomFilter decoded;
  if (!bytes.empty()) {
    kvdyno::Reader reader(bytes);
    uint32_t probes = 0;
    reader.Fixed(&probes);
    if (probes < 1 || probes > kMostProbes) return false;
    decoded.probes_ = static_cast<int>(probes);
    decoded.words_.resize(reader.rest().size() / sizeof(uint64_t));
    for (uint64_t& word : decoded.words_) reader.Fixed(&word);
    if (decoded.words_.empty() || !reader.rest().empty()) return false;
    decoded.bits_ = decoded.words_.size() * 64;
  }
  *filter = std::move(decoded);
  return true;
}

}  // namespace chunkstore
