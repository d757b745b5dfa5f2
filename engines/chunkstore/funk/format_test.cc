#include "funk/format.h"

#include "funk/funk_test_data.h"
#include "kvdyno/base/coding.h"
#include "kvdyno/base/crc32c.h"

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
  if (!BlockView::Parse(bytes, false, &view).empty()) return;
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
  std::string BytesOf(const RunSummary& summary) {
    std::string bytes(summary.extent.length, '\0');
    ExpectOk(segments_->Read(summary.extent, 0, bytes.size(), bytes.data()));
    return bytes;
  }
};

TEST_F(FormatTest, BlocksAreSafeOnAnyBytes) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const RunSummary summary = Write({RandomEntries(&random, 300, 1, 2000)}).front();
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
  const RunSummary summary = Write({RandomEntries(&random, 200, 1, 300)}).front();
  const std::string encoded = EncodeRunIndex(*summary.index);
  RunFooter footer;
  ExpectOk(DecodeFooter(BytesOf(summary).substr(summary.extent.length - kFooterBytes), &footer));
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = encoded;
    for (uint64_t changes = random() % 3; changes > 0; --changes) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    if (random() % 8 == 0) bytes.resize(random() % (bytes.size() + 1));
    footer.index_length = bytes.size();
    footer.index_checksum = kvdyno::Crc32c(bytes);
    RunIndex index;
    const Status status = DecodeRunIndex(EncodeFooter(footer), bytes, &index);
    if (bytes == encoded) ExpectOk(status);
    if (!status.ok()) continue;
    for (const auto& key : {RandomKey(&random), std::string(), std::string("zz")}) {
      EXPECT_LE(index.Find(key), index.blocks.size());
    }
  }
}

TEST(Format, EqualFirstKeysMustContinue) {
  for (const bool continues : {true, false}) {
    RunIndex index;
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
    const std::string bytes = EncodeRunIndex(index);
    RunFooter footer;
    footer.index_offset = 200;
    footer.index_length = bytes.size();
    footer.blocks = 2;
    footer.entries = 6;
    footer.index_checksum = kvdyno::Crc32c(bytes);
    RunIndex decoded;
    const Status status = DecodeRunIndex(EncodeFooter(footer), bytes, &decoded);
    EXPECT_EQ(status.ok(), continues) << status.ToString();
    if (!status.ok()) continue;
    EXPECT_EQ(decoded.Find("k"), 0u);
  }
}

TEST(Format, NamesAnUnknownVersion) {
  std::string footer = EncodeFooter({});
  kvdyno::StoreFixed(footer.data() + 36, kRunFormat + 1);
  kvdyno::StoreFixed(footer.data() + 40, kvdyno::Crc32c(std::string_view(footer).substr(0, 40)));
  RunFooter decoded;
  const Status status = DecodeFooter(footer, &decoded);
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_EQ(status.message(), "expected run format version 1, got 2");
}

TEST(Format, FindsTheBlockToBeginWith) {
  RunIndex index;
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
