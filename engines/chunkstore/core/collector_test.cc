// What the collector keeps, against a reading of all versions.
#include "core/collector.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <optional>

#include "kvdyno/base/testing/rng.h"

namespace chunkstore {
namespace {

using kvdyno::testing::Rng;

// Entries that own their bytes, in entry order.
struct Kept {
  std::string key, value;
  Version version;
  EntryType type;
  bool operator==(const Kept&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Kept& kept) {
  return out << kept.key << "@" << kept.version
             << (kept.type == EntryType::kDeletion ? " deleted" : " = " + kept.value);
}

Kept Value(const std::string& key, Version version) {
  return {key, "v" + std::to_string(version), version, EntryType::kValue};
}
Kept Deleted(const std::string& key, Version version) {
  return {key, "", version, EntryType::kDeletion};
}

std::vector<Kept> Collect(const std::vector<Kept>& entries, std::vector<Version> retained,
                          bool bottom) {
  Collector collector(std::move(retained), bottom ? kNewest : Collector::kNoBottom);
  std::vector<Kept> kept;
  const auto emit = [&kept](const Entry& entry) {
    kept.push_back({std::string(entry.key), std::string(entry.value), entry.version, entry.type});
    return Status::Ok();
  };
  for (const Kept& entry : entries) {
    // A cursor's views die with its next movement.
    const std::string key = entry.key, value = entry.value;
    EXPECT_TRUE(collector.Add({key, value, entry.version, entry.type}, emit).ok());
  }
  return kept;
}

// The newest entry of the key at or below the version.
const Kept* Newest(const std::vector<Kept>& entries, const std::string& key, Version version) {
  const Kept* found = nullptr;
  for (const Kept& entry : entries) {
    if (entry.key == key && entry.version <= version &&
        (found == nullptr || entry.version > found->version)) {
      found = &entry;
    }
  }
  return found;
}

// What a reader gets: nothing for a deletion. `below`: an older value that is not among the
// entries.
std::optional<std::string> Read(const std::vector<Kept>& entries, const std::string& key,
                                Version version, bool below) {
  const Kept* found = Newest(entries, key, version);
  if (found == nullptr) return below ? std::optional<std::string>("below") : std::nullopt;
  if (found->type == EntryType::kDeletion) return std::nullopt;
  return found->value;
}

bool SameReads(const std::vector<Kept>& before, const std::vector<Kept>& after,
               const std::vector<Version>& readers, bool bottom) {
  for (const Kept& entry : before) {
    for (const Version version : readers) {
      if (Read(before, entry.key, version, !bottom) != Read(after, entry.key, version, !bottom)) {
        return false;
      }
    }
  }
  return true;
}

TEST(Collector, KeepsTheNewestAlone) {
  const std::vector<Kept> all = {Value("a", 9), Value("a", 5), Value("a", 2), Value("b", 1)};
  EXPECT_EQ(Collect(all, {}, false), (std::vector<Kept>{Value("a", 9), Value("b", 1)}));
}

TEST(Collector, KeepsWhatASnapshotSees) {
  const std::vector<Kept> all = {Value("a", 9), Value("a", 5), Value("a", 4), Value("a", 2)};
  EXPECT_EQ(Collect(all, {5}, true), (std::vector<Kept>{Value("a", 9), Value("a", 5)}));
  EXPECT_EQ(Collect(all, {8}, true), (std::vector<Kept>{Value("a", 9), Value("a", 5)}));
  EXPECT_EQ(Collect(all, {3, 4}, true),
            (std::vector<Kept>{Value("a", 9), Value("a", 4), Value("a", 2)}));
  EXPECT_EQ(Collect(all, {1}, true), (std::vector<Kept>{Value("a", 9)}));
  EXPECT_EQ(Collect(all, {9, 20}, true), (std::vector<Kept>{Value("a", 9)}));
}

TEST(Collector, DropsADeletionOnlyWithNothingBelow) {
  const std::vector<Kept> all = {Deleted("a", 9), Value("a", 5), Value("b", 3)};
  EXPECT_EQ(Collect(all, {}, false), (std::vector<Kept>{Deleted("a", 9), Value("b", 3)}));
  EXPECT_EQ(Collect(all, {}, true), (std::vector<Kept>{Value("b", 3)}));
  EXPECT_EQ(Collect(all, {6}, true), all) << "the snapshot's version would be the newest";
}

TEST(Collector, DropsDeletionsOnTopOfEachOther) {
  EXPECT_EQ(Collect({Deleted("a", 9), Deleted("a", 5)}, {6}, true), (std::vector<Kept>{}));
  EXPECT_EQ(Collect({Deleted("a", 9), Deleted("a", 5), Value("a", 3)}, {4, 6}, true),
            (std::vector<Kept>{Deleted("a", 5), Value("a", 3)}));
}

TEST(Collector, KeepsADeletionThatAnOlderWriteMayStillJoin) {
  std::vector<Version> kept;
  const auto emit = [&kept](const Entry& entry) {
    kept.push_back(entry.version);
    return Status::Ok();
  };
  Collector collector({}, 5);
  for (const Version version : std::vector<Version>{9, 6, 5, 3}) {
    ASSERT_TRUE(collector.Add({"a", "", version, EntryType::kDeletion}, emit).ok());
  }
  ASSERT_TRUE(collector.Add({"b", "", 5, EntryType::kDeletion}, emit).ok());
  ASSERT_TRUE(collector.Add({"c", "", 6, EntryType::kDeletion}, emit).ok());
  EXPECT_EQ(kept, (std::vector<Version>{9, 6}))
      << "only the newest deletion of a: no reader needs an older one";
}

TEST(Collector, DistinguishesKeys) {
  const std::vector<Kept> all = {Deleted("", 3), Deleted("a", 9), Value(std::string("a\0", 2), 2),
                                 Deleted("b", 9)};
  EXPECT_EQ(Collect(all, {1, 5}, true), (std::vector<Kept>{Value(std::string("a\0", 2), 2)}));
  EXPECT_EQ(Collect(all, {1, 5}, false), all);
}

TEST(Collector, HandsOnErrors) {
  Collector collector({1}, kNewest);
  const auto refuse = [](const Entry&) { return Status::NoSpace("full"); };
  EXPECT_EQ(collector.Add({"a", "v", 9, EntryType::kValue}, refuse).code(), Code::kNoSpace);
  EXPECT_TRUE(collector.Add({"b", "", 9, EntryType::kDeletion}, refuse).ok()) << "held back";
  EXPECT_EQ(collector.Add({"b", "v", 1, EntryType::kValue}, refuse).code(), Code::kNoSpace);
}

// All that the rule keeps is needed: without any one entry some reader would read something else.
// Above the bottom, a key's newest version stays in any case: what lies below is not known.
void ExpectNothingSuperfluous(const std::vector<Kept>& all, const std::vector<Kept>& kept,
                              const std::vector<Version>& readers, bool bottom) {
  for (size_t i = 0; i < kept.size(); ++i) {
    if (!bottom && kept[i].type == EntryType::kDeletion) continue;
    std::vector<Kept> fewer = kept;
    fewer.erase(fewer.begin() + static_cast<long>(i));
    EXPECT_FALSE(SameReads(all, fewer, readers, bottom)) << "no reader needs " << kept[i];
  }
}

TEST(Collector, ReadsAreUnchangedAndNothingSuperfluousStays) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const uint64_t versions = rng.Between(1, 30);
    std::map<std::string, std::map<Version, bool, std::greater<>>> histories;
    for (Version version = 1; version <= versions; ++version) {
      if (rng.OneIn(4)) continue;
      histories[std::string(rng.Below(4), 'k')][version] = rng.OneIn(3);
    }
    std::vector<Kept> all;
    for (const auto& [key, history] : histories) {
      for (const auto& [version, deletion] : history) {
        all.push_back(deletion ? Deleted(key, version) : Value(key, version));
      }
    }
    std::vector<Version> retained;
    const uint64_t rarity = rng.Between(1, 8);
    for (Version version = 0; version <= versions + 2; ++version) {
      if (rng.OneIn(rarity)) retained.push_back(version);
    }
    std::vector<Version> readers = retained;
    readers.push_back(kNewest);
    const bool bottom = rng.OneIn(2);

    const std::vector<Kept> kept = Collect(all, retained, bottom);
    EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end(), [](const Kept& a, const Kept& b) {
      return Compare(a.key, a.version, b.key, b.version) < 0;
    }));
    EXPECT_TRUE(SameReads(all, kept, readers, bottom));
    ExpectNothingSuperfluous(all, kept, readers, bottom);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace chunkstore
