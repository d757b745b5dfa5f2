#include "stage/record.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace chunkstore {
namespace {

std::string Encoded(Version first, uint32_t count, std::string_view payload) {
  std::string bytes(RecordSize(payload.size()), '\xee');
  std::string_view stored;
  EncodeRecord(bytes.data(), first, count, 0, payload, &stored);
  EXPECT_EQ(stored, payload);
  return bytes;
}

TEST(Record, RoundTripsEveryPayloadLength) {
  for (size_t length = 0; length < 100; ++length) {
    const std::string payload(length, 'p');
    const std::string bytes = Encoded(MakeVersion(3, 77), 5, payload);
    ASSERT_EQ(bytes.size() % 8, 0u);
    const std::string more = bytes + "behind";
    Record record;
    ASSERT_TRUE(DecodeRecord(more, &record));
    EXPECT_EQ(record.first, MakeVersion(3, 77));
    EXPECT_EQ(record.count, 5u);
    EXPECT_EQ(record.flags, 0u);
    EXPECT_EQ(record.payload, payload);
    EXPECT_EQ(record.size, bytes.size());
  }
}

TEST(Record, EveryFlippedBitAndEveryCutIsSeen) {
  const std::string bytes = Encoded(9, 1, "some payload of a record");
  Record record;
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    EXPECT_FALSE(DecodeRecord(damaged, &record)) << bit;
  }
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(DecodeRecord(std::string_view(bytes).substr(0, length), &record)) << length;
  }
}

TEST(Record, ZerosAreNone) {
  Record record;
  EXPECT_FALSE(DecodeRecord(std::string(4096, '\0'), &record));
}

// Any combination of surviving pages over an older record of the same shape.
TEST(Record, SurvivingPagesOfAnOlderRecordAreSeen) {
  const std::string older = Encoded(9, 1, std::string(3 * 4096, 'a'));
  const std::string newer = Encoded(10, 1, std::string(3 * 4096, 'b'));
  for (unsigned pages = 1; pages < 15; ++pages) {
    std::string mixed = older;
    for (size_t at = 0; at < mixed.size(); at += 4096) {
      if ((pages >> at / 4096 & 1) != 0) mixed.replace(at, 4096, newer, at, 4096);
    }
    Record record;
    EXPECT_FALSE(DecodeRecord(mixed, &record)) << pages;
  }
}

TEST(Record, PeeksSafely) {
  EXPECT_EQ(PeekVersion("short"), 0u);
  EXPECT_EQ(PeekSize("short"), 5u);
  EXPECT_EQ(PeekSize(std::string(30, '\xff')), 30u);
}

TEST(Operations, RoundTrip) {
  const std::vector<Entry> entries = {
      {"key", "value", 40, EntryType::kValue},
      {"", "", 41, EntryType::kValue},
      {"gone", "", 42, EntryType::kDeletion},
      {std::string_view("\0\xff", 2), std::string_view("\0", 1), 43, EntryType::kValue}};
  std::string payload, stored(1000, '\0');
  char* end = stored.data();
  for (const Entry& e : entries) {
    AppendOperation(&payload, e.type, e.key, e.value);
    char* const begin = end;
    end = StoreOperation(begin, e.type, e.key, e.value);
    EXPECT_LE(static_cast<size_t>(end - begin), OperationBytes(e.key, e.value));
  }
  stored.resize(static_cast<size_t>(end - stored.data()));
  EXPECT_EQ(stored, payload);
  OperationReader reader(payload, 40);
  Entry entry;
  for (const Entry& e : entries) {
    ASSERT_TRUE(reader.Next(&entry));
    EXPECT_EQ(entry.key, e.key);
    EXPECT_EQ(entry.value, e.value);
    EXPECT_EQ(entry.version, e.version);
    EXPECT_EQ(entry.type, e.type);
  }
  EXPECT_FALSE(reader.Next(&entry));
  EXPECT_FALSE(reader.malformed());
}

TEST(Operations, MalformedBytesAreSafe) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes(random() % 60, '\0');
    for (char& c : bytes) c = static_cast<char>(random() % 3 == 0 ? random() : random() % 4);
    OperationReader reader(bytes, 1);
    Entry entry;
    while (reader.Next(&entry)) {
      ASSERT_LE(entry.key.size() + entry.value.size(), bytes.size());
    }
    ASSERT_FALSE(reader.Next(&entry));
    Record record;
    EXPECT_FALSE(DecodeRecord(bytes, &record));
  }
  for (const char* bad : {"\x03", "\x01\x05", "\x02\x02k"}) {
    OperationReader reader(bad, 1);
    Entry entry;
    EXPECT_FALSE(reader.Next(&entry));
    EXPECT_TRUE(reader.malformed());
  }
}

TEST(Spill, NamesAndReferences) {
  uint64_t number = 0;
  EXPECT_EQ(SpillName(0xabc), "spill-0000000000000abc");
  ASSERT_TRUE(ParseSpillName(SpillName(UINT64_MAX - 4), &number));
  EXPECT_EQ(number, UINT64_MAX - 4);
  for (const char* bad :
       {"spill-1", "spill-000000000000000g", "ring-00", "spill-000000000000000AB"}) {
    EXPECT_FALSE(ParseSpillName(bad, &number)) << bad;
  }
  char bytes[kSpillRefBytes];
  StoreSpillRef(bytes, {1, 2, 3});
  SpillRef ref;
  ASSERT_TRUE(LoadSpillRef({bytes, kSpillRefBytes}, &ref));
  EXPECT_EQ(ref.crc, 3u);
  EXPECT_FALSE(LoadSpillRef({bytes, kSpillRefBytes - 1}, &ref));
}

}  // namespace
}  // namespace chunkstore
