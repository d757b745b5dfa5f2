// The way from a key to its chunk, against a search through all of them.
#include "core/chunk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "kvdyno/base/testing/rng.h"

namespace chunkstore {
namespace {

using kvdyno::testing::Rng;

// A map over chunks with these minimal keys; the first is empty.
class Chunks {
 public:
  explicit Chunks(const std::set<std::string>& min_keys) {
    const LogPolicy* policy = &policy_;
    for (auto at = min_keys.begin(); at != min_keys.end(); ++at) {
      const auto next = std::next(at);
      auto funk = std::make_unique<Funk>();
      funk->log = std::make_shared<Log>(policy, nullptr, std::vector<ExtentRef>{});
      owned_.push_back(std::make_unique<Chunk>(
          owned_.size() + 1, *at, next == min_keys.end() ? "" : *next, std::move(funk)));
      chunks_.push_back(owned_.back().get());
    }
    map_ = std::make_unique<ChunkMap>(chunks_);
  }
  const ChunkMap& map() const { return *map_; }

  void ExpectFinds(std::string_view key) const {
    size_t expected = chunks_.size() - 1;
    while (chunks_[expected]->min_key > key) --expected;
    ASSERT_EQ(map_->Position(key), expected) << "key " << ::testing::PrintToString(key);
    ASSERT_EQ(map_->Find(key), chunks_[expected]);
  }

 private:
  LogPolicy policy_;
  std::vector<std::unique_ptr<Chunk>> owned_;
  std::vector<Chunk*> chunks_;
  std::unique_ptr<ChunkMap> map_;
};

TEST(ChunkMap, OneChunkHoldsEverything) {
  const Chunks chunks({""});
  for (const std::string_view key : {std::string_view(), std::string_view("a"),
                                     std::string_view("\0", 1), std::string_view("\xff\xff")}) {
    chunks.ExpectFinds(key);
  }
}

TEST(ChunkMap, KeysBesideTheCommonPrefix) {
  const Chunks chunks({"", "user:1000", "user:1001", "user:2"});
  for (const std::string_view key :
       {"", "u", "user:", "user:1", "user:1000", "user:10000", "user:1001", "user:1002", "user:2",
        "user:3", "user", "usfr", "v", "usdr:9999"}) {
    chunks.ExpectFinds(key);
  }
}

// A key that ends looks like one that goes on with zeros.
TEST(ChunkMap, TrailingZerosAreBytesOfTheKey) {
  const std::string zeros = std::string("a").append(20, '\0');
  std::set<std::string> keys = {"", "a"};
  for (const size_t length : {2, 3, 8, 9, 10, 17}) keys.insert(zeros.substr(0, length));
  const Chunks chunks(keys);
  for (size_t length = 0; length <= zeros.size(); ++length) {
    const std::string key = zeros.substr(0, length);
    chunks.ExpectFinds(key);
    chunks.ExpectFinds(key + "b");
    chunks.ExpectFinds(zeros.substr(1, length));
  }
}

TEST(ChunkMap, EqualWordsAreDistinguishedByWhatFollows) {
  std::set<std::string> keys = {"", "0", "z"};
  for (int i = 0; i < 50; ++i) {
    keys.insert(std::string("12345678").append(static_cast<size_t>(i), 'x'));
  }
  const Chunks chunks(keys);
  chunks.ExpectFinds("1234567");
  for (int i = 0; i < 60; ++i) {
    const std::string key = std::string("12345678").append(static_cast<size_t>(i), 'x');
    chunks.ExpectFinds(key);
    chunks.ExpectFinds(key + "w");
    chunks.ExpectFinds(key + "y");
  }
}

std::string RandomKey(Rng* rng, const std::string& prefix, char last) {
  static constexpr char kBytes[] = {'\0', 'a', 'b', '\x7f', '\x80', '\xff'};
  std::string key = prefix.substr(
      0, prefix.size() - std::min<uint64_t>(prefix.size(), rng->OneIn(6) ? rng->Below(4) : 0));
  for (uint64_t left = rng->Skewed(12) - 1; left > 0; --left) {
    key.push_back(rng->OneIn(3) ? kBytes[rng->Below(sizeof kBytes)] : last);
  }
  return key;
}

TEST(ChunkMap, AgreesWithASearchThroughAllChunks) {
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    std::string prefix;
    for (uint64_t i = rng.Below(20); i > 0; --i)
      prefix.push_back(static_cast<char>(rng.Below(256)));
    const char last = rng.Pick({'\0', 'a', '\xff'});
    std::set<std::string> keys = {""};
    for (uint64_t i = rng.Skewed(200); i > 0; --i) keys.insert(RandomKey(&rng, prefix, last));
    const Chunks chunks(keys);
    ASSERT_NO_FATAL_FAILURE(chunks.ExpectFinds({}));
    for (const std::string& key : keys) {
      ASSERT_NO_FATAL_FAILURE(chunks.ExpectFinds(key));
      ASSERT_NO_FATAL_FAILURE(chunks.ExpectFinds(key + '\0'));
      ASSERT_NO_FATAL_FAILURE(chunks.ExpectFinds(std::string_view(key).substr(0, key.size() / 2)));
    }
    for (int i = 0; i < 200; ++i) {
      ASSERT_NO_FATAL_FAILURE(chunks.ExpectFinds(RandomKey(&rng, prefix, last)));
    }
  }
}

TEST(Chunk, GivesItsMunkToReadsOnceItIsActive) {
  LogPolicy policy;
  auto funk = std::make_unique<Funk>();
  funk->log = std::make_shared<Log>(&policy, nullptr, std::vector<ExtentRef>{});
  Chunk chunk(1, "", "", std::move(funk));
  EXPECT_TRUE(chunk.funk().empty());
  EXPECT_EQ(chunk.funk().bytes(), 0U);
  EXPECT_EQ(chunk.ActiveMunk(), nullptr);
  auto* munk = new Munk("", "");
  EXPECT_EQ(chunk.Exchange(munk), nullptr);
  EXPECT_EQ(chunk.munk(), munk);
  EXPECT_EQ(chunk.ActiveMunk(), nullptr) << "still loading";
  munk->Activate();
  EXPECT_EQ(chunk.ActiveMunk(), munk);
}

}  // namespace
}  // namespace chunkstore
