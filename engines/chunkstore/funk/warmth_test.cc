#include "funk/warmth.h"

#include <gtest/gtest.h>

#include "kvdyno/base/testing/simulated_file_system.h"

namespace chunkstore::testing {
namespace {

using kvdyno::testing::SimulatedFileSystem;

class WarmthTest : public ::testing::Test {
 protected:
  static constexpr const char* kDirectory = "/db";
  WarmthTest() { EXPECT_TRUE(disk_.CreateDirectory(kDirectory).ok()); }

  static ChunkWarmth Known(uint64_t id, uint32_t reads, uint64_t runs) {
    ChunkWarmth known;
    known.id = id;
    known.reads = reads;
    known.scans = reads / 2;
    known.runs = runs;
    return known;
  }
  void Write(uint64_t number) {
    std::unique_ptr<WarmthWriter> writer;
    ASSERT_TRUE(WarmthWriter::Create(&disk_, kDirectory, number, &writer).ok());
    ASSERT_TRUE(writer->Add(Known(9, 40, 2), "index of nine").ok());
    ASSERT_TRUE(writer->Add(Known(3, 0, 0), "").ok());
    ASSERT_TRUE(writer->Add(Known(5, UINT32_MAX, 300), std::string(5000, 'i')).ok());
    ASSERT_TRUE(writer->Finish().ok());
  }
  std::string PathOf(uint64_t number) { return kDirectory + ("/" + WarmthName(number)); }

  SimulatedFileSystem disk_{1};
};

TEST_F(WarmthTest, GivesBackWhatWasSaved) {
  Write(12);
  std::shared_ptr<const Warmth> warmth;
  ASSERT_TRUE(Warmth::Open(&disk_, PathOf(12), &warmth).ok());
  ASSERT_EQ(warmth->chunks().size(), 3u);
  EXPECT_EQ(warmth->Find(4), nullptr);
  EXPECT_EQ(warmth->Find(3)->length, 0u);
  EXPECT_EQ(warmth->Find(5)->reads, UINT32_MAX);
  EXPECT_EQ(warmth->Find(5)->runs, 300u);
  EXPECT_EQ(warmth->Find(9)->scans, 20u);
  std::string index;
  ASSERT_TRUE(warmth->Read(*warmth->Find(9), &index).ok());
  EXPECT_EQ(index, "index of nine");
  ASSERT_TRUE(warmth->Read(*warmth->Find(5), &index).ok());
  EXPECT_EQ(index, std::string(5000, 'i'));
}

TEST_F(WarmthTest, NoticesEveryDamage) {
  Write(1);
  uint64_t size = 0;
  ASSERT_TRUE(disk_.Size(PathOf(1), &size).ok());
  for (uint64_t byte = 0; byte < size; ++byte) {
    ASSERT_TRUE(disk_.Flip(PathOf(1), byte * 8 + byte % 8).ok());
    std::shared_ptr<const Warmth> warmth;
    Status status = Warmth::Open(&disk_, PathOf(1), &warmth);
    std::string index;
    for (const uint64_t id : {5, 9}) {
      if (status.ok()) status = warmth->Read(*warmth->Find(id), &index);
    }
    EXPECT_EQ(status.code(), kvdyno::Code::kCorruption) << "byte " << byte;
    EXPECT_NE(status.ToString().find(WarmthName(1)), std::string::npos) << status.ToString();
    ASSERT_TRUE(disk_.Flip(PathOf(1), byte * 8 + byte % 8).ok());
  }
  for (const uint64_t length : {uint64_t{0}, uint64_t{10}, size - 1}) {
    ASSERT_TRUE(disk_.Truncate(PathOf(1), length).ok());
    std::shared_ptr<const Warmth> warmth;
    EXPECT_EQ(Warmth::Open(&disk_, PathOf(1), &warmth).code(), kvdyno::Code::kCorruption);
    Write(1);
  }
}

TEST_F(WarmthTest, FilesOfOtherNumbersGo) {
  for (const uint64_t number : {1, 2, 3}) Write(number);
  RemoveWarmth(&disk_, kDirectory, 2);
  std::vector<std::string> names;
  ASSERT_TRUE(disk_.List(kDirectory, &names).ok());
  EXPECT_EQ(names, std::vector<std::string>{WarmthName(2)});
}

TEST_F(WarmthTest, ANumberHasOneName) {
  uint64_t number = 0;
  EXPECT_TRUE(ParseWarmthName("warmth-000012", &number));
  EXPECT_EQ(number, 12u);
  EXPECT_TRUE(ParseWarmthName(WarmthName(12345678), &number));
  EXPECT_EQ(number, 12345678u);
  for (const char* name :
       {"warmth-", "warmth-12", "warmth-0000012", "warmth-00001x", "warm-000012"}) {
    EXPECT_FALSE(ParseWarmthName(name, &number)) << name;
  }
}

}  // namespace
}  // namespace chunkstore::testing
