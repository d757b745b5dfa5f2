#include "funk/key_index.h"

#include <algorithm>
#include <utility>

#include "kvdyno/base/coding.h"

namespace chunkstore {

namespace {

constexpr size_t kGroup = 8;  // items

// For bytes that were made here, or checked.
uint64_t Varint(const char** at) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(*(*at)++);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
}

struct StoredKey {
  size_t shared = 0;
  std::string_view rest;
};

StoredKey TakeKey(const char** at) {
  StoredKey key;
  key.shared = Varint(at);
  const size_t length = Varint(at);
  key.rest = {*at, length};
  *at += length;
  return key;
}

KeyIndex::Item TakeItem(const char** at, Version least) {
  KeyIndex::Item item;
  item.version = least + Varint(at);
  item.run = static_cast<uint32_t>(Varint(at));
  item.block.offset = Varint(at);
  item.block.length = static_cast<uint32_t>(Varint(at));
  return item;
}

}  // namespace

// Appends items in order.
class KeyIndex::Builder {
 public:
  Builder(KeyIndex* index, Version least) : index_(index) { index->least_ = least; }
  void Add(std::string_view key, const Item& item) {
    std::string& bytes = index_->bytes_;
    const bool begins_group = index_->size_++ % kGroup == 0;
    if (begins_group) index_->groups_.push_back(static_cast<uint32_t>(bytes.size()));
    const size_t shared = begins_group ? 0 : SharedPrefix(last_, key).size();
    const std::string_view rest = key.substr(shared);
    char head[2 * kvdyno::kMaxVarintBytes];
    char* at = kvdyno::StoreVarint(head, shared);
    at = kvdyno::StoreVarint(at, rest.size());
    bytes.append(head, static_cast<size_t>(at - head));
    bytes.append(rest);
    char place[4 * kvdyno::kMaxVarintBytes];
    at = kvdyno::StoreVarint(place, item.version - index_->least_);
    at = kvdyno::StoreVarint(at, item.run);
    at = kvdyno::StoreVarint(at, item.block.offset);
    at = kvdyno::StoreVarint(at, item.block.length);
    bytes.append(place, static_cast<size_t>(at - place));
    last_.assign(key);
  }

 private:
  KeyIndex* index_;
  std::string last_;
};

KeyIndex::KeyIndex(const std::vector<SortedRunKey>& keys, uint32_t first_run) {
  Version least = kNewest;
  for (const SortedRunKey& key : keys) least = std::min(least, key.version);
  Builder builder(this, least);
  for (const SortedRunKey& key : keys)
    builder.Add(key.key, {key.version, first_run + key.run, key.block});
  Seal();
}

KeyIndex::KeyIndex(std::span<const std::shared_ptr<const KeyIndex>> parts) {
  size_t bytes = 0;
  Version least = kNewest;
  std::vector<Cursor> sources;
  sources.reserve(parts.size());
  for (const auto& part : parts) {
    bytes += part->bytes_.size();
    least = std::min(least, part->least_);
    sources.emplace_back(part.get()).SeekToFirst();
  }
  bytes_.reserve(bytes);
  Builder builder(this, least);
  for (;;) {
    Cursor* next = nullptr;
    for (Cursor& source : sources) {
      if (!source.Valid()) continue;
      if (next == nullptr ||
          Compare(source.key(), source.item().version, next->key(), next->item().version) < 0) {
        next = &source;
      }
    }
    if (next == nullptr) break;
    builder.Add(next->key(), next->item());
    next->Next();
  }
  Seal();
}

bool KeyIndex::CanMerge(std::span<const std::shared_ptr<const KeyIndex>> parts) {
  size_t bytes = 0;
  for (const auto& part : parts) bytes += part->bytes_.size();
  return bytes <= UINT32_MAX / 2;
}

std::shared_ptr<const KeyIndex> KeyIndex::Decode(std::string_view bytes, uint32_t runs) {
  std::shared_ptr<KeyIndex> index(new KeyIndex);
  kvdyno::Reader reader(bytes);
  uint64_t size = 0;
  if (!reader.Varint(&size) || !reader.Fixed(&index->least_)) return nullptr;
  const std::string_view items = reader.rest();
  if (size == 0 || size > items.size() || items.size() > UINT32_MAX / 2) return nullptr;
  uint64_t key_length = 0;  // of the item before
  for (uint64_t i = 0; i < size; ++i) {
    if (i % kGroup == 0) {
      index->groups_.push_back(static_cast<uint32_t>(items.size() - reader.rest().size()));
    }
    uint64_t shared = 0, version = 0, run = 0, offset = 0, length = 0;
    std::string_view rest;
    if (!reader.Varint(&shared) || !reader.LengthPrefixed(&rest) || !reader.Varint(&version) ||
        !reader.Varint(&run) || !reader.Varint(&offset) || !reader.Varint(&length)) {
      return nullptr;
    }
    if (shared > (i % kGroup == 0 ? 0 : key_length) || run >= runs || length > UINT32_MAX) {
      return nullptr;
    }
    key_length = shared + rest.size();
  }
  if (!reader.rest().empty()) return nullptr;
  index->bytes_ = items;
  index->size_ = size;
  index->Seal();
  return index;
}

void KeyIndex::Encode(std::string* to) const {
  kvdyno::AppendVarint(to, size_);
  kvdyno::AppendFixed(to, least_);
  to->append(bytes_);
}

void KeyIndex::Seal() {
  bytes_.shrink_to_fit();
  groups_.shrink_to_fit();
  words_.Build(groups_.size(), [this](size_t group) { return HeadOf(group); });
}

size_t KeyIndex::memory() const {
  return sizeof *this + bytes_.capacity() + groups_.capacity() * sizeof(uint32_t) + words_.memory();
}

std::string_view KeyIndex::HeadOf(size_t group) const {
  const char* at = bytes_.data() + groups_[group];
  return TakeKey(&at).rest;
}

size_t KeyIndex::GroupOf(std::string_view key, Version version) const {
  auto [from, to] = words_.Narrow(key);
  while (from < to) {  // to the first group whose first item is beyond
    const size_t middle = from + (to - from) / 2;
    const char* at = bytes_.data() + groups_[middle];
    const std::string_view head = TakeKey(&at).rest;
    if (Compare(head, TakeItem(&at, least_).version, key, version) <= 0) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  return from == 0 ? 0 : from - 1;
}

// No key is put together: `matched` is how many bytes of the key the item before begins with, and
// that item is before the one searched for.
bool KeyIndex::Find(std::string_view key, Version version, Item* item) const {
  if (size_ == 0) return false;
  const size_t group = GroupOf(key, version);
  const char* at = bytes_.data() + groups_[group];
  size_t matched = 0;
  const size_t end = std::min(size_, (group + 1) * kGroup + 1);  // the next group's first may be it
  for (size_t i = group * kGroup; i < end; ++i) {
    const StoredKey stored = TakeKey(&at);
    *item = TakeItem(&at, least_);
    if (i % kGroup == 0) matched = 0;
    if (stored.shared > matched) continue;      // differs from the key where the one before did
    if (stored.shared < matched) return false;  // beyond the key
    const std::string_view wanted = key.substr(matched);
    const size_t more = SharedPrefix(stored.rest, wanted).size();
    matched += more;
    if (more == wanted.size() && more == stored.rest.size()) {
      if (item->version <= version) return true;
    } else if (more == wanted.size() ||
               (more < stored.rest.size() && static_cast<unsigned char>(stored.rest[more]) >
                                                 static_cast<unsigned char>(wanted[more]))) {
      return false;  // beyond the key
    }
  }
  return false;
}

void KeyIndex::Cursor::Enter(size_t group) {
  key_.clear();
  next_ = index_->bytes_.data() + (index_->size_ == 0 ? 0 : index_->groups_[group]);
  Next();
}

void KeyIndex::Cursor::Next() {
  valid_ = next_ != index_->bytes_.data() + index_->bytes_.size();
  if (!valid_) return;
  const StoredKey stored = TakeKey(&next_);
  key_.resize(stored.shared);
  key_.append(stored.rest);
  item_ = TakeItem(&next_, index_->least_);
}

void KeyIndex::Cursor::Seek(std::string_view key, Version version) {
  Enter(index_->size_ == 0 ? 0 : index_->GroupOf(key, version));
  while (valid_ && Compare(key_, item_.version, key, version) < 0) Next();
}

}  // namespace chunkstore
