#include "funk/format.h"

#include "funk/funk_test_data.h"
#include "kvdyno/base/coding.h"
#include "kvdyno/base/crc32c.h"
#include "kvdyno/base/hash.h"

namespace chunkstore::testing {
namespace {

TEST(Format, NamesSegments) {
  uint64_t number = 0;
  for (const uint64_t expected : {0ull, 12ull, 999999ull, 1000000ull, ~0ull}) {
    ASSERT_TRUE(ParseSegmentName(SegmentName(expected), &number));
    EXPECT_EQ(number, expected);
  }
  EXPECT_EQ(SegmentName(12), "segment-000012.seg");
  for (const char* name : {"", "segment-.seg", "segment-12.seg", "segment-0000012.seg", "segment-.",
                           "segment-00001x.seg", "segment-000012.seg.new", "segment-+00012.seg",
                           "segment-99999999999999999999.seg"}) {
    EXPECT_FALSE(ParseSegmentName(name, &number)) << name;
  }
}

// Everything a view offers, on bytes that may be anything.
void Use(std::string_view bytes) {
  BlockView view;
  if (!BlockView::Parse(bytes, 0, false, &view).empty()) return;
  size_t length = 0;
  for (uint32_t i = 0; i < view.size(); ++i) {
    const Entry entry = view.at(i);
    length += entry.key.size() + entry.value.size();
    EXPECT_LE(view.LowerBound(entry.key, entry.version), view.size());
  }
  EXPECT_LE(length, bytes.size());
}

class FormatTest : public FunkTest {
 protected:
  std::string BytesOf(const SortedRunSummary& summary) {
    std::string bytes(summary.extent.length, '\0');
    ExpectOk(segments_->Read(summary.extent, 0, bytes.size(), bytes.data()));
    return bytes;
  }
};

TEST_F(FormatTest, BlocksAreSafeOnAnyBytes) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const SortedRunSummary summary = Write({RandomEntries(&random, 300, 1, 2000)}).front();
  const std::string run = BytesOf(summary);
  for (int round = 0; round < 20'000; ++round) {
    const auto& blocks = summary.index->blocks;
    const BlockRef& ref = blocks[random() % blocks.size()];
    std::string block = run.substr(ref.offset, ref.length);
    for (uint64_t changes = random() % 4; changes > 0; --changes) {
      // Often near the end, where the offsets are.
      const uint64_t place = random() % 2 == 0
                                 ? random() % block.size()
                                 : block.size() - 1 - random() % std::min<size_t>(block.size(), 24);
      block[place] = static_cast<char>(random());
    }
    if (random() % 8 == 0) block.resize(random() % (block.size() + 1));
    Use(block);
  }
}

TEST_F(FormatTest, IndexesAreSafeOnAnyBytesWithRightChecksums) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const SortedRunSummary summary = Write({RandomEntries(&random, 200, 1, 300)}).front();
  SortedRunFooter footer;
  const std::string encoded = EncodeSortedRunIndex(*summary.index, &footer);
  SortedRunFooter stored;
  ExpectOk(DecodeFooter(BytesOf(summary).substr(summary.extent.length - kFooterBytes), &stored));
  ExpectOk(CheckFooter(stored, summary.extent));
  EXPECT_GT(stored.filter_length, 0u);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = encoded;
    for (uint64_t changes = random() % 3; changes > 0; --changes) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    if (random() % 8 == 0) bytes.resize(random() % (bytes.size() + 1));
    footer.filter_length = std::min<uint64_t>(stored.filter_length, bytes.size());
    footer.index_length = bytes.size() - footer.filter_length;
    footer.index_checksum = kvdyno::Crc32c(bytes);
    SortedRunIndex index;
    const Status status = DecodeSortedRunIndex(footer, bytes, &index);
    if (bytes == encoded) ExpectOk(status);
    if (!status.ok()) continue;
    (void)index.filter.MayContain(random());
    for (const auto& key : {RandomKey(&random), std::string(), std::string("zz")}) {
      EXPECT_LE(index.Find(key), index.blocks.size());
    }
  }
}

TEST(Format, EqualFirstKeysMustContinue) {
  for (const bool continues : {true, false}) {
    SortedRunIndex index;
    for (uint32_t i = 0; i < 2; ++i) {
      BlockRef ref;
      ref.offset = uint64_t{100} * i;
      ref.length = 100;
      ref.entries = 3;
      ref.continues = i > 0 && continues ? 1 : 0;
      index.blocks.push_back(ref);
    }
    index.keys = "kkk";
    index.key_ends = {1, 2, 3};
    SortedRunFooter footer;
    const std::string bytes = EncodeSortedRunIndex(index, &footer);
    EXPECT_EQ(footer.index_offset, 200u);
    EXPECT_EQ(footer.entries, 6u);
    SortedRunIndex decoded;
    const Status status = DecodeSortedRunIndex(footer, bytes, &decoded);
    EXPECT_EQ(status.ok(), continues) << status.ToString();
    if (!status.ok()) continue;
    EXPECT_EQ(decoded.Find("k"), 0u);
  }
}

TEST(Format, NamesAnUnknownVersion) {
  std::string footer = EncodeFooter({});
  kvdyno::StoreFixed(footer.data() + 44, kRunFormat + 1);
  kvdyno::StoreFixed(footer.data() + 48, kvdyno::Crc32c(std::string_view(footer).substr(0, 48)));
  SortedRunFooter decoded;
  const Status status = DecodeFooter(footer, &decoded);
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_EQ(status.message(), "expected run format version of at most 2, got 3");
}

// As a builder of format 1 wrote it.
TEST(Format, ReadsTheFirstFooter) {
  std::string footer;
  for (const uint64_t field : {1000, 50, 3, 9}) kvdyno::AppendFixed(&footer, field);
  kvdyno::AppendFixed(&footer, uint32_t{0x1234});
  kvdyno::AppendFixed(&footer, uint32_t{1});
  kvdyno::AppendFixed(&footer, kvdyno::Crc32c(footer));
  kvdyno::AppendFixed(&footer, kRunMagic);
  ASSERT_EQ(footer.size(), kLeastFooterBytes);
  for (const std::string& before : {std::string(), std::string(8, 'i')}) {
    SortedRunFooter decoded;
    ExpectOk(DecodeFooter(before + footer, &decoded));
    EXPECT_EQ(decoded.length, kLeastFooterBytes);
    EXPECT_EQ(decoded.index_offset, 1000u);
    EXPECT_EQ(decoded.index_length, 50u);
    EXPECT_EQ(decoded.filter_length, 0u);
    EXPECT_EQ(decoded.blocks, 3u);
    EXPECT_EQ(decoded.index_checksum, 0x1234u);
    ExpectOk(CheckFooter(decoded, {1, 0, 1000 + 50 + kLeastFooterBytes, 9}));
    EXPECT_EQ(CheckFooter(decoded, {1, 0, 1000 + 50 + kFooterBytes, 9}).code(), Code::kCorruption);
    EXPECT_EQ(CheckFooter(decoded, {1, 0, 1000 + 50 + kLeastFooterBytes, 8}).code(),
              Code::kCorruption);
  }
  SortedRunFooter decoded;
  EXPECT_EQ(DecodeFooter(footer.substr(1), &decoded).code(), Code::kCorruption);
  EXPECT_EQ(DecodeFooter(EncodeFooter({}).substr(1), &decoded).code(), Code::kCorruption);
}

TEST(Format, FiltersAreStoredAsTheyAre) {
  for (const double bits : {0.5, 10.0, 32.0}) {
    std::vector<uint64_t> hashes;
    for (uint64_t i = 0; i < 1000; ++i) hashes.push_back(kvdyno::Hash64(Numbered("key", i)));
    const BloomFilter filter(hashes, bits);
    std::string bytes;
    filter.Encode(&bytes);
    BloomFilter decoded;
    ASSERT_TRUE(BloomFilter::Decode(bytes, &decoded));
    EXPECT_EQ(decoded.memory(), filter.memory());
    for (uint64_t i = 0; i < 2000; ++i) {
      const uint64_t hash = kvdyno::Hash64(Numbered("key", i));
      EXPECT_EQ(decoded.MayContain(hash), filter.MayContain(hash));
    }
    EXPECT_FALSE(BloomFilter::Decode(bytes.substr(1), &decoded));
    EXPECT_FALSE(BloomFilter::Decode(bytes.substr(0, 4), &decoded));
    bytes[0] = 0;
    EXPECT_FALSE(BloomFilter::Decode(bytes, &decoded)) << "no probes";
  }
  BloomFilter none;
  std::string bytes;
  none.Encode(&bytes);
  EXPECT_TRUE(bytes.empty());
  EXPECT_TRUE(BloomFilter::Decode(bytes, &none));
  EXPECT_TRUE(none.MayContain(7));
}

TEST(Format, FindsTheBlockToBeginWith) {
  SortedRunIndex index;
  const auto add = [&](const char* key, bool continues) {
    BlockRef ref;
    ref.continues = continues ? 1 : 0;
    index.blocks.push_back(ref);
    index.keys += key;
    index.key_ends.push_back(static_cast<uint32_t>(index.keys.size()));
  };
  for (const auto& [key, continues] :
       {std::pair{"b", false}, {"d", false}, {"d", true}, {"d", true}, {"f", true}, {"h", false}}) {
    add(key, continues);
  }
  index.keys += "k";
  index.key_ends.push_back(static_cast<uint32_t>(index.keys.size()));
  index.Seal();
  const std::vector<std::pair<const char*, size_t>> expected = {
      {"", 0},  {"a", 0}, {"b", 0}, {"c", 0}, {"d", 1}, {"e", 3},
      {"f", 3}, {"g", 4}, {"h", 5}, {"k", 5}, {"l", 6}};
  for (const auto& [key, block] : expected) EXPECT_EQ(index.Find(key), block) << key;
}

}  // namespace
}  // namespace chunkstore::testing
