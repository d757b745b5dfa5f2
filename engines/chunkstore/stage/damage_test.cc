// Flipped bits and other damage in ring files: found, reported, or harmless; no wrong answer.
#include <gtest/gtest.h>

#include "kvdyno/base/testing/simulated_file_system.h"
#include "stage/ring_fixture.h"

namespace chunkstore {
namespace {

using kvdyno::testing::SimulatedFileSystem;

constexpr size_t kStageSize = 16384;

class DamageTest : public ::testing::Test {
 protected:
  DamageTest() : files_(1), store_(&files_, "/ring", kStageSize) {
    EXPECT_TRUE(files_.CreateDirectory("/ring").ok());
    EXPECT_TRUE(store_.Open().ok());
  }
  // Ten records, of which the first five are synchronised (twice, so that both marks are there).
  void Fill() {
    for (int i = 0; i < 10; ++i) {
      const MiniStore::Operation operation{"key" + std::to_string(i), "some value",
                                           EntryType::kValue};
      ASSERT_TRUE(store_.Write({operation}).ok());
      ASSERT_TRUE((i != 3 && i != 4) || store_.Sync().ok());
    }
    first_ = store_.active()->first();
    record_ = store_.active()->bytes() / 10;
    store_.Close();
  }
  void FlipByte(size_t at) { ASSERT_TRUE(files_.Flip("/ring/ring-0", at * 8 + at % 8).ok()); }
  Status Reopen(RingRecovery* recovery, bool salvage = false) {
    RingOptions options = store_.options();
    options.read_only = true;
    std::unique_ptr<Ring> ring;
    return Ring::Open(options, 0, store_.epochs(), salvage, recovery, &ring);
  }

  SimulatedFileSystem files_;
  MiniStore store_;
  Version first_ = 0;
  size_t record_ = 0;  // bytes of one
};

TEST_F(DamageTest, EveryByteOfThePageBeforeTheRecordsIsHarmless) {
  Fill();
  for (size_t at = 0; at < kRecordsAt; at += at % 512 < 64 ? 1 : 61) {
    FlipByte(at);
    RingRecovery recovery;
    const Status status = Reopen(&recovery);
    EXPECT_TRUE(status.ok()) << at << " " << status.ToString();
    EXPECT_EQ(recovery.last, first_ + 9) << at;
    FlipByte(at);
  }
}

TEST_F(DamageTest, SynchronisedRecordsAreCorruption) {
  Fill();
  for (size_t at = 0; at < 5 * record_; ++at) {
    FlipByte(kRecordsAt + at);
    RingRecovery recovery;
    const Status status = Reopen(&recovery);
    ASSERT_EQ(status.code(), Code::kCorruption) << at;
    EXPECT_EQ(status.file(), "/ring/ring-0");
    EXPECT_EQ(status.offset(), kRecordsAt + at / record_ * record_);
    ASSERT_TRUE(Reopen(&recovery, /*salvage=*/true).ok());
    EXPECT_EQ(recovery.last, at < record_ ? 0 : first_ + at / record_ - 1);
    EXPECT_EQ(recovery.dropped_bytes, (10 - at / record_) * record_);
    FlipByte(kRecordsAt + at);
  }
}

TEST_F(DamageTest, LaterRecordsAreDroppedAndCounted) {
  Fill();
  for (size_t at = 5 * record_; at < 10 * record_; ++at) {
    FlipByte(kRecordsAt + at);
    RingRecovery recovery;
    ASSERT_TRUE(Reopen(&recovery).ok());
    EXPECT_EQ(recovery.last, first_ + at / record_ - 1);
    // A length that is wrong may hide how much the last record took.
    EXPECT_GT(recovery.dropped_bytes, (9 - at / record_) * record_) << at;
    EXPECT_FALSE(recovery.dropped_reason.empty());
    FlipByte(kRecordsAt + at);
  }
}

TEST_F(DamageTest, HalfCopiedLastRecordIsNotDropped) {
  Fill();
  // The payload is there, the header is not: what a killed process leaves behind.
  std::unique_ptr<kvdyno::MappedFile> file;
  ASSERT_TRUE(files_.Map("/ring/ring-0", kStageSize, &file).ok());
  char* end = file->data() + kRecordsAt + 10 * record_;
  std::memset(end + kRecordHeaderBytes, 'x', 200);
  RingRecovery recovery;
  ASSERT_TRUE(Reopen(&recovery).ok());
  EXPECT_EQ(recovery.last, first_ + 9);
  EXPECT_EQ(recovery.dropped_bytes, 0u);
}

TEST_F(DamageTest, ALastRecordThatLacksItsVersionIsNotDropped) {
  Fill();
  // A process that is killed just before it stores the version leaves all else.
  std::unique_ptr<kvdyno::MappedFile> file;
  ASSERT_TRUE(files_.Map("/ring/ring-0", kStageSize, &file).ok());
  constexpr size_t kVersionAt = 8;
  std::memset(file->data() + kRecordsAt + 9 * record_ + kVersionAt, 0, sizeof(Version));
  RingRecovery recovery;
  ASSERT_TRUE(Reopen(&recovery).ok());
  EXPECT_EQ(recovery.last, first_ + 8);
  EXPECT_EQ(recovery.dropped_bytes, 0u);
  EXPECT_TRUE(recovery.dropped_reason.empty());
}

TEST_F(DamageTest, BothHeadersUnreadable) {
  Fill();
  FlipByte(kHeadersAt[0] + 3);
  FlipByte(kHeadersAt[1] + 20);
  RingRecovery recovery;
  const Status status = Reopen(&recovery);
  EXPECT_EQ(status.code(), Code::kCorruption);
  EXPECT_EQ(status.file(), "/ring/ring-0");
  ASSERT_TRUE(Reopen(&recovery, /*salvage=*/true).ok());
  EXPECT_GT(recovery.dropped_bytes, 0u);
}

TEST_F(DamageTest, FrontOfTheFileZeroed) {
  Fill();
  std::unique_ptr<kvdyno::MappedFile> file;
  ASSERT_TRUE(files_.Map("/ring/ring-0", kStageSize, &file).ok());
  for (const size_t from : {size_t{4}, size_t{0}}) {
    // The header is as of a file that was never used, and the first records are gone.
    std::memset(file->data() + from, 0, kRecordsAt + 3 * record_ - from);
    RingRecovery recovery;
    const Status status = Reopen(&recovery);
    EXPECT_EQ(status.code(), Code::kCorruption) << from;
    EXPECT_EQ(status.file(), "/ring/ring-0");
    ASSERT_TRUE(Reopen(&recovery, /*salvage=*/true).ok());
    EXPECT_GT(recovery.dropped_bytes, 0u);
  }
}

TEST_F(DamageTest, AnotherFormatIsNamed) {
  Fill();
  std::unique_ptr<kvdyno::MappedFile> file;
  ASSERT_TRUE(files_.Map("/ring/ring-0", kStageSize, &file).ok());
  kvdyno::StoreFixed<uint32_t>(file->data() + 8, 77);
  kvdyno::StoreFixed(file->data() + 12, kvdyno::Crc32c({file->data(), 12}));
  RingRecovery recovery;
  const Status status = Reopen(&recovery);
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_NE(status.message().find("77"), std::string::npos) << status.message();
}

TEST_F(DamageTest, TruncatedFile) {
  Fill();
  ASSERT_TRUE(files_.Truncate("/ring/ring-0", kRecordsAt + 7 * record_).ok());
  RingRecovery recovery;
  EXPECT_EQ(Reopen(&recovery).code(), Code::kCorruption);
  ASSERT_TRUE(Reopen(&recovery, /*salvage=*/true).ok());
  EXPECT_EQ(recovery.last, first_ + 6);
}

TEST_F(DamageTest, SpilledPayload) {
  ASSERT_TRUE(store_.Write({{"a", std::string(kStageSize, 'a'), EntryType::kValue}}).ok());
  const std::string spill = "/ring/" + SpillName(store_.last());
  store_.Close();
  ASSERT_TRUE(files_.Flip(spill, 4711).ok());
  RingRecovery recovery;
  const Status status = Reopen(&recovery);
  EXPECT_EQ(status.code(), Code::kCorruption);
  EXPECT_EQ(status.file(), spill);
  ASSERT_TRUE(Reopen(&recovery, /*salvage=*/true).ok());
  EXPECT_EQ(recovery.last, 0u);
  EXPECT_GT(recovery.dropped_bytes, 0u);
}

TEST(Scan, AnyBytesAreSafe) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 2000; ++i) {
    std::string file(random() % (kRecordsAt + 300), '\0');
    for (size_t n = random() % 200; n > 0 && !file.empty(); --n) {
      file[random() % file.size()] = static_cast<char>(random());
    }
    const HeaderScan headers = ScanHeaders(file);
    EXPECT_NE(headers.state, HeaderState::kGood);
    (void)HoldsNewerUse(file, headers);
    const RecordScan scan = ScanRecords(file, {1, random() % 3, file.size()}, kNewest);
    EXPECT_EQ(scan.end, kRecordsAt);
  }
}

}  // namespace
}  // namespace chunkstore
