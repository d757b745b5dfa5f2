#include "testing/history.h"

namespace chunkstore::testing {
namespace {

// One row's hash; a content's hash is the exclusive or of its rows'.
uint64_t RowHash(size_t rank, ValueId id) { return id == kAbsent ? 0 : Mix(id ^ Mix(rank)); }

uint64_t HashOf(const Content& content) {
  uint64_t hash = 0;
  for (size_t rank = 0; rank < content.size(); ++rank) hash ^= RowHash(rank, content[rank]);
  return hash;
}

std::string Differences(const Content& expected, const Content& got) {
  std::string text;
  size_t count = 0;
  for (size_t rank = 0; rank < got.size(); ++rank) {
    if (expected[rank] == got[rank]) continue;
    if (++count > 3) continue;
    text += (count == 1 ? "key " : "; key ") + std::to_string(rank) + ": expected " +
            Describe(expected[rank]) + ", got " + Describe(got[rank]);
  }
  return text + " (" + std::to_string(count) + " keys differ)";
}

}  // namespace

void Apply(const Operations& write, Content* content) {
  for (const auto& [rank, id] : write) (*content)[rank] = id;
}

void History::Add(Operations write) {
  Apply(write, &latest_);
  writes_.push_back(std::move(write));
}

Content History::After(size_t prefix) const {
  Content content = base_;
  for (size_t i = 0; i < prefix; ++i) Apply(writes_[i], &content);
  return content;
}

std::string History::Judge(const Content& content, size_t floor) const {
  const uint64_t wanted = HashOf(content);
  Content state = base_;
  uint64_t hash = HashOf(state);
  size_t best = SIZE_MAX;
  for (size_t prefix = 0;; ++prefix) {
    if (hash == wanted) best = prefix;
    if (prefix == writes_.size()) break;
    for (const auto& [rank, id] : writes_[prefix]) {
      hash ^= RowHash(rank, state[rank]) ^ RowHash(rank, id);
      state[rank] = id;
    }
  }
  const std::string sizes =
      "of " + std::to_string(writes_.size()) + " writes, " + std::to_string(floor) + " promised";
  if (best == SIZE_MAX) {
    return "content is no prefix " + sizes + "; against the promised state, " +
           Differences(After(floor), content);
  }
  if (best < floor) {
    return "content is the state after " + std::to_string(best) + " " + sizes + "; " +
           Differences(After(floor), content);
  }
  return {};
}

Status ReadContent(Store* store, const KeySpace& keys, Content* content, std::string* wrong) {
  content->assign(keys.size(), kAbsent);
  std::string previous;
  bool first = true;
  return store->Scan({}, [&](std::string_view key, std::string_view value) {
    const size_t rank = keys.Find(key);
    const ValueId id = IdOf(value);
    if (rank == keys.size() || id == kAbsent) {
      *wrong = "row " + Printable(key) + " with " + std::to_string(value.size()) +
               " bytes was never written";
      return false;
    }
    if (!first && key <= previous) {
      *wrong = "rows out of order at " + Printable(key);
      return false;
    }
    previous = key;
    first = false;
    (*content)[rank] = id;
    return true;
  });
}

Operations RandomWrite(Rng* rng, size_t keys, uint64_t* last_number) {
  Operations write(rng->OneIn(8) ? rng->Skewed(30) : 1);
  for (auto& [rank, id] : write) {
    rank = rng->Below(keys);
    id = rng->OneIn(6) ? kAbsent : MakeId(++*last_number, RandomLength(rng, sizeof(ValueId)));
  }
  return write;
}

Status WriteTo(Store* store, const KeySpace& keys, const Operations& write) {
  std::string value;
  if (write.size() == 1) {
    const auto& [rank, id] = write.front();
    if (id == kAbsent) return store->Delete(keys[rank]);
    MakeValue(id, &value);
    return store->Put(keys[rank], value);
  }
  WriteBatch batch;
  for (const auto& [rank, id] : write) {
    if (id == kAbsent) {
      batch.Delete(keys[rank]);
    } else {
      MakeValue(id, &value);
      batch.Put(keys[rank], value);
    }
  }
  return store->Write(batch);
}

}  // namespace chunkstore::testing
