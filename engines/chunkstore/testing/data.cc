#include "testing/data.h"

#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>

namespace chunkstore::testing {

void MakeValue(ValueId id, std::string* value) {
  value->resize(LengthOf(id));
  char* to = value->data();
  size_t left = value->size();
  for (uint64_t word = id; left > 0; word = Mix(word)) {
    const size_t step = std::min<size_t>(left, sizeof word);
    std::memcpy(to, &word, step);
    to += step;
    left -= step;
  }
}

bool IsValue(ValueId id, std::string_view value) {
  if (value.size() != LengthOf(id)) return false;
  const char* at = value.data();
  size_t left = value.size();
  for (uint64_t word = id; left > 0; word = Mix(word)) {
    const size_t step = std::min<size_t>(left, sizeof word);
    if (std::memcmp(at, &word, step) != 0) return false;
    at += step;
    left -= step;
  }
  return true;
}

ValueId IdOf(std::string_view value) {
  ValueId id = kAbsent;
  if (value.size() < sizeof id) return kAbsent;
  std::memcpy(&id, value.data(), sizeof id);
  return IsValue(id, value) ? id : kAbsent;
}

uint64_t RandomLength(Rng* rng, uint64_t minimum) {
  const uint64_t dice = rng->Below(1000);
  uint64_t length = rng->Below(80);
  if (dice < 100) length = rng->Below(400);
  if (dice < 10) length = rng->Below(6000);
  if (dice < 1) length = rng->Below(40000);
  return std::max(length, minimum);
}

std::string Describe(ValueId id) {
  if (id == kAbsent) return "absent";
  return "value " + std::to_string(NumberOfId(id)) + " of " + std::to_string(LengthOf(id)) +
         " bytes";
}

std::string Printable(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "\"";
  for (const char byte : bytes.substr(0, 40)) {
    const auto value = static_cast<unsigned char>(byte);
    if (value >= 0x20 && value < 0x7f && byte != '\\' && byte != '"') {
      text += byte;
    } else {
      text += std::string("\\x") + kDigits[value >> 4] + kDigits[value & 15];
    }
  }
  if (bytes.size() > 40) text += "...";
  return text + "\"";
}

KeySpace::KeySpace(Rng* rng, size_t count) {
  std::set<std::string> keys;
  if (rng->OneIn(4)) keys.insert("");
  const uint64_t shape = rng->Below(4);
  while (keys.size() < count) {
    std::string key;
    if (shape == 0 || shape == 3) key = "user" + std::to_string(rng->Below(1'000'000'000));
    if (shape == 1 || (shape == 3 && rng->OneIn(2))) {
      key.resize(rng->Between(1, 12));
      for (char& byte : key)
        byte = static_cast<char>(rng->Pick({0x00, 0x01, 0x61, 0x7f, 0x80, 0xff}));
    }
    if (shape == 2) {
      key = std::string(rng->Below(20), 'p') + std::to_string(rng->Below(count * 4));
      if (rng->OneIn(50)) key += std::string(rng->Below(2000), 'x');
    }
    keys.insert(std::move(key));
  }
  keys_.assign(keys.begin(), keys.end());
}

size_t KeySpace::LowerBound(std::string_view key) const {
  return static_cast<size_t>(std::lower_bound(keys_.begin(), keys_.end(), key) - keys_.begin());
}

size_t KeySpace::Find(std::string_view key) const {
  const size_t rank = LowerBound(key);
  return rank < keys_.size() && keys_[rank] == key ? rank : keys_.size();
}

Options RandomOptions(Rng* rng) {
  constexpr uint64_t kKiB = 1024;
  Options options;
  options.durability = rng->Pick({Durability::kNone, Durability::kAsync, Durability::kAsync,
                                  Durability::kAsync, Durability::kSync});
  options.checkpoint_interval_s = rng->Pick({0.01, 0.1, 1.0});
  options.memory_budget = Options::kLeastBudget;
  options.munk_cache_size =
      rng->Pick({uint64_t{0}, 64 * kKiB, 256 * kKiB, 1024 * kKiB, Options::kAdaptive});
  options.row_cache_size = rng->Pick({uint64_t{0}, 16 * kKiB, 256 * kKiB, Options::kAdaptive});
  // The large one leaves little to those that are adaptive.
  options.block_cache_size =
      rng->Pick({uint64_t{0}, 32 * kKiB, 512 * kKiB, 15 * 1024 * kKiB, Options::kAdaptive});
  options.stage_size = rng->Pick({64 * kKiB, 64 * kKiB, 128 * kKiB, 256 * kKiB});
  options.chunk_size = rng->Pick({4 * kKiB, 16 * kKiB, 16 * kKiB, 64 * kKiB});
  options.block_size = rng->Pick({uint64_t{256}, kKiB, 4 * kKiB, 16 * kKiB});
  options.table_filter_bits = rng->Pick({0.0, 2.0, 10.0});
  options.log_lookup = rng->Pick({LogLookup::kIndex, LogLookup::kIndex, LogLookup::kBloom});
  options.bloom_split = static_cast<int>(rng->Pick({1, 2, 16}));
  options.bloom_bits = rng->Pick({1.0, 10.0});
  options.log_limit = rng->Pick({Options::kAuto, 4 * kKiB, 32 * kKiB});
  options.munk_log_limit = rng->Pick({Options::kAuto, 4 * kKiB, 128 * kKiB});
  options.log_debt_limit = rng->Pick({Options::kAuto, 64 * kKiB, 1024 * kKiB});
  options.direct_io = rng->OneIn(2);
  options.max_open_files = rng->Pick({16, 512});
  return options;
}

ScratchDirectory::ScratchDirectory(const std::string& parent)
    : path_((parent.empty() ? std::string(".") : parent) + "/chunkstore-XXXXXX") {
  if (::mkdtemp(path_.data()) == nullptr) {
    std::perror(("mkdtemp " + path_).c_str());
    std::abort();
  }
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace chunkstore::testing
