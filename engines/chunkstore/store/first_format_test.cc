// A store of format 1, as a release wrote it that knew no other, kept in format-1/: 80 rows, put in
// order and compacted into tables; then every eighth was put again and every eighth, from the fourth
// on, deleted, which made log runs. Blocks of 256 bytes.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "kvdyno/base/coding.h"
#include "store/store_fixture.h"

namespace chunkstore {
namespace {

namespace fs = std::filesystem;

class FirstFormatTest : public StoreTest {
 protected:
  FirstFormatTest() {
    options_.block_size = 256;
    options_.munk_cache_size = 0;
    for (int i = 0; i < 80; ++i) {
      if (i % 8 == 3) continue;
      std::string value = i % 8 == 0 ? "second " : "first ";
      rows_[Key(i)] = value.append(std::to_string(i));
    }
    EXPECT_TRUE(files_.CreateDirectory(kDirectory).ok());
    for (const auto& file : fs::directory_iterator(CHUNKSTORE_FORMAT_1)) Copy(file.path());
    EXPECT_TRUE(files_.SyncDirectory("/").ok());
    EXPECT_TRUE(files_.SyncDirectory(kDirectory).ok());
  }
  static std::string Key(int i) {
    std::string key = "key";
    return key.append(std::to_string(1000 + i));
  }
  static std::string Path(const std::string& name) {
    std::string path = kDirectory;
    return path.append("/").append(name);
  }
  void Copy(const fs::path& from) {
    std::ifstream stream(from, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    ASSERT_FALSE(bytes.empty()) << from;
    std::unique_ptr<kvdyno::WritableFile> file;
    ASSERT_TRUE(IsOk(files_.Create(Path(from.filename()), false, &file)));
    ASSERT_TRUE(IsOk(file->Append(bytes)));
    ASSERT_TRUE(IsOk(file->Sync()));
  }
  // The format that the manifest names, which an older release looks at first.
  uint32_t Format() {
    std::string current, manifest;
    EXPECT_TRUE(IsOk(kvdyno::ReadWholeFile(&files_, Path("CURRENT"), &current)));
    const std::string name = current.substr(0, current.find('\n'));
    EXPECT_TRUE(IsOk(kvdyno::ReadWholeFile(&files_, Path(name), &manifest)));
    return kvdyno::LoadFixed<uint32_t>(manifest.data() + 8);
  }
  void ExpectSound() {
    CheckReport report;
    ASSERT_TRUE(IsOk(store_->VerifyChecksums(&report)));
    EXPECT_TRUE(report.problems.empty()) << report.problems.front();
    EXPECT_GT(report.blocks, 5u);
  }
};

TEST_F(FirstFormatTest, IsReadWithoutAWrite) {
  ASSERT_EQ(Format(), 1u);
  options_.read_only = true;
  Open();
  ExpectAll();
  EXPECT_EQ(Get(Key(3)), "not found");
  EXPECT_EQ(Get("key1000x"), "not found");
  ExpectSound();
  ASSERT_TRUE(IsOk(store_->Close()));
  EXPECT_EQ(Format(), 1u);
}

TEST_F(FirstFormatTest, LogsAreReadWithoutWhatTheCloseSaved) {
  ASSERT_TRUE(IsOk(files_.Remove(Path("warmth-000001"))));
  for (const LogLookup lookup : {LogLookup::kIndex, LogLookup::kBloom}) {
    options_.log_lookup = lookup;
    Open();
    ExpectAll();
    ASSERT_TRUE(IsOk(store_->Close()));
  }
}

TEST_F(FirstFormatTest, BecomesTheSecondOneRunByRun) {
  Open();
  EXPECT_EQ(Format(), 2u) << "a release that knows format 1 alone refuses it from now on";
  for (int i = 0; i < 40; ++i) Put(Key(2 * i), "third");
  ASSERT_TRUE(IsOk(store_->Flush()));
  ExpectAll();
  ExpectSound();  // runs of both formats
  ASSERT_TRUE(IsOk(store_->Compact()));
  Reopen();
  ExpectAll();
  ExpectSound();
  for (int i = 0; i < 80; ++i) EXPECT_EQ(Get(Key(i) + "x"), "not found");
  EXPECT_GT(Stat("filtered_gets"), 70);
}

TEST_F(FirstFormatTest, IsBackedUpAsItIs) {
  Open();
  ASSERT_TRUE(IsOk(store_->Backup("/copy")));
  ASSERT_TRUE(IsOk(store_->Close()));
  ASSERT_TRUE(IsOk(Store::Open(options_, "/copy", &store_)));
  ExpectAll();
  ExpectSound();
}

TEST_F(FirstFormatTest, IsRepairedWithoutItsManifest) {
  ASSERT_TRUE(IsOk(files_.Remove(Path("CURRENT"))));
  ASSERT_TRUE(IsOk(files_.Remove(Path("manifest-000001"))));
  CheckReport report;
  ASSERT_TRUE(IsOk(Store::Repair(options_, kDirectory, &report)));
  Open();
  ExpectAll();
  ExpectSound();
}

TEST_F(FirstFormatTest, DamageIsDetected) {
  ASSERT_TRUE(IsOk(files_.Flip(Path("segment-000002.seg"), 8 * 30)));
  Open();
  CheckReport report;
  ASSERT_TRUE(IsOk(store_->VerifyChecksums(&report)));
  EXPECT_EQ(report.problems.size(), 1u);
  EXPECT_EQ(store_->Get({}, Key(1), &rows_[Key(1)]).code(), Code::kCorruption);
}

}  // namespace
}  // namespace chunkstore
