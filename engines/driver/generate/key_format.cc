#include "kvdyno/generate/key_format.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <cstring>
#include <limits>
#include <utility>

namespace kvdyno {
namespace {

constexpr size_t kDigitsMax = std::numeric_limits<uint64_t>::digits10 + 1;  // of any index

// "00", "01" ... "99": two digits for one division.
constexpr std::array<char, 200> kPairs = [] {
  std::array<char, 200> pairs{};
  for (size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

// The last index of so many digits: 99 for 2.
uint64_t WidestOf(size_t digits) {
  if (digits >= kDigitsMax) return std::numeric_limits<uint64_t>::max();
  uint64_t bound = 1;
  for (size_t i = 0; i < digits; ++i) bound *= 10;
  return bound - 1;
}

// Right-aligned in [begin, end), padded with zeros.
void WriteDigits(uint64_t index, char* begin, char* end) {
  while (end - begin >= 2) {
    end -= 2;
    std::memcpy(end, &kPairs[index % 100 * 2], 2);
    index /= 100;
  }
  if (end != begin) *begin = static_cast<char>('0' + index);
}

}  // namespace

KeyFormat::KeyFormat(std::string prefix, int digits)
    : prefix_(std::move(prefix)), digits_(static_cast<size_t>(digits)), widest_(WidestOf(digits_)) {
  assert(digits >= 1);
}

size_t KeyFormat::max_size() const { return prefix_.size() + std::max(digits_, kDigitsMax); }

size_t KeyFormat::DigitsOf(uint64_t index) const {
  if (index <= widest_) return digits_;
  size_t digits = digits_ + 1;
  while (index > WidestOf(digits)) ++digits;
  return digits;
}

void KeyFormat::Format(uint64_t index, std::string* key) const {
  key->resize(prefix_.size() + DigitsOf(index));
  std::memcpy(key->data(), prefix_.data(), prefix_.size());
  WriteDigits(index, key->data() + prefix_.size(), key->data() + key->size());
}

std::string_view KeyFormat::Format(uint64_t index, char* buffer) const {
  const size_t size = prefix_.size() + DigitsOf(index);
  std::memcpy(buffer, prefix_.data(), prefix_.size());
  WriteDigits(index, buffer + prefix_.size(), buffer + size);
  return {buffer, size};
}

bool KeyFormat::Parse(std::string_view key, uint64_t* index) const {
  if (!key.starts_with(prefix_)) return false;
  key.remove_prefix(prefix_.size());
  if (key.size() < digits_ || (key.size() > digits_ && key.front() == '0')) return false;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), *index);
  return error == std::errc() && end == key.data() + key.size();
}

}  // namespace kvdyno
