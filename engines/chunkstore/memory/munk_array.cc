#include "memory/munk_array.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "memory/prefix_words.h"

namespace chunkstore {

void MunkArray::Expect(size_t entries, size_t bytes) {
  records_.Reserve(bytes + entries * (sizeof(Header) + 8));
  places_.reserve(entries);
}

void MunkArray::Add(const Entry& entry) {
  assert(places_.empty() || [&] {
    const Entry last = At(places_.size() - 1);
    return Compare(last.key, last.version, entry.key, entry.version) < 0;
  }());
  const size_t place = records_.size();
  char* to = records_.Append(sizeof(Header) + entry.key.size() + entry.value.size());
  const Header header{
      entry.version, static_cast<uint32_t>(entry.value.size()),
      static_cast<uint32_t>(entry.key.size() << 8) | static_cast<uint32_t>(entry.type)};
  std::memcpy(to, &header, sizeof header);
  to += sizeof header;
  if (!entry.key.empty()) std::memcpy(to, entry.key.data(), entry.key.size());
  to += entry.key.size();
  if (!entry.value.empty()) std::memcpy(to, entry.value.data(), entry.value.size());
  places_.push_back(static_cast<uint32_t>(place / 8));
  newest_ = std::max(newest_, entry.version);
  size_.store(places_.size(), std::memory_order_relaxed);
  memory_.store(records_.size() + places_.capacity() * sizeof(uint32_t), std::memory_order_relaxed);
}

void MunkArray::Seal() {
  records_.ShrinkToFit();
  places_.shrink_to_fit();
  BuildTree();
  memory_.store(records_.capacity() + heap_memory(), std::memory_order_relaxed);
}

size_t MunkArray::heap_memory() const {
  return places_.capacity() * sizeof(uint32_t) + tree_.capacity() * sizeof(Group) +
         common_.capacity();
}

Entry MunkArray::At(size_t index) const {
  const char* from = records_.data() + size_t{places_[index]} * 8;
  Header header;
  std::memcpy(&header, from, sizeof header);
  from += sizeof header;
  const size_t key_bytes = header.key_bytes_and_type >> 8;
  return {{from, key_bytes},
          {from + key_bytes, header.value_bytes},
          header.version,
          static_cast<EntryType>(header.key_bytes_and_type & 0xff)};
}

size_t MunkArray::LowerBound(std::string_view key, Version version) const {
  const size_t count = places_.size();
  if (count == 0) return 0;
  const int order = key.substr(0, common_.size()).compare(common_);
  if (order != 0) return order < 0 ? 0 : count;
  const uint64_t prefix = PrefixOf(key);
  size_t from = FirstPrefixNotBelow(prefix);
  if (from >= count || PrefixAt(from) != prefix) return from;
  size_t to = from + 1;
  if (to < count && PrefixAt(to) == prefix) {
    to = prefix == UINT64_MAX ? count : FirstPrefixNotBelow(prefix + 1);
  }
  while (from < to) {
    const size_t middle = from + (to - from) / 2;
    const Entry entry = At(middle);
    if (Compare(entry.key, entry.version, key, version) < 0) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  return from;
}

uint64_t MunkArray::PrefixOf(std::string_view key) const {
  return PrefixWord(key.substr(common_.size()));
}

size_t MunkArray::FirstPrefixNotBelow(uint64_t prefix) const {
  size_t at = 0;
  for (size_t level = levels_; level-- > 0;) {
    // `at`: the group of this level in which the answer is, or behind which it follows at once.
    if (level == 0) __builtin_prefetch(&places_[at * kFan]);
    const Group& group = tree_[level_start_[level] + at];
    size_t below = 0;
    for (const uint64_t other : group.prefixes) below += other < prefix ? 1 : 0;
    at = at * kFan + below;
    if (level == 0) break;
    if (at == 0) return 0;
    --at;
  }
  return std::min(at, places_.size());
}

void MunkArray::BuildTree() {
  const size_t count = places_.size();
  if (count == 0) return;
  common_ = SharedPrefix(At(0).key, At(count - 1).key);

  size_t groups = 0;
  for (size_t in_level = count; levels_ == 0 || in_level > 1;) {
    level_start_[levels_++] = static_cast<uint32_t>(groups);
    in_level = (in_level + kFan - 1) / kFan;
    groups += in_level;
  }
  tree_.resize(groups);
  for (Group& group : tree_) std::fill(group.prefixes, group.prefixes + kFan, UINT64_MAX);
  for (size_t i = 0; i < count; ++i) tree_[i / kFan].prefixes[i % kFan] = PrefixOf(At(i).key);
  for (size_t level = 1; level < levels_; ++level) {
    const size_t below = level_start_[level - 1];
    const size_t here = level_start_[level];
    for (size_t i = 0; i < here - below; ++i) {
      tree_[here + i / kFan].prefixes[i % kFan] = tree_[below + i].prefixes[0];
    }
  }
}

}  // namespace chunkstore
