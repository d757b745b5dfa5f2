#include "env.h"

#include <gtest/gtest.h>
#include <leveldb/db.h>
#include <stdlib.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

namespace kvdyno::level {

namespace {

namespace fs = std::filesystem;

class LevelEnv : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    std::ofstream(File()) << "0123456789";
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string File() const { return directory_ + "/000001.ldb"; }

  std::unique_ptr<leveldb::RandomAccessFile> Open(Env* env) {
    leveldb::RandomAccessFile* file = nullptr;
    const leveldb::Status opened = env->NewRandomAccessFile(File(), &file);
    EXPECT_TRUE(opened.ok()) << opened.ToString();
    return std::unique_ptr<leveldb::RandomAccessFile>(file);
  }

  std::string directory_ = fs::temp_directory_path() / "kvdyno-leveldb-XXXXXX";
};

// The data's address shows which way it was read: into the scratch buffer, or mapped.
bool ReadIntoScratch(const leveldb::RandomAccessFile& file) {
  char scratch[4];
  leveldb::Slice got;
  EXPECT_TRUE(file.Read(3, 4, &got, scratch).ok());
  EXPECT_EQ(got.ToString(), "3456");
  return got.data() == scratch;
}

TEST_F(LevelEnv, MapsAsManyFilesAsItMay) {
  Env env(2);
  auto first = Open(&env);
  const auto second = Open(&env);
  const auto third = Open(&env);
  EXPECT_FALSE(ReadIntoScratch(*first));
  EXPECT_FALSE(ReadIntoScratch(*second));
  EXPECT_TRUE(ReadIntoScratch(*third));
  first.reset();
  EXPECT_FALSE(ReadIntoScratch(*Open(&env)));
}

TEST_F(LevelEnv, ReadsBeyondTheEnd) {
  for (const int64_t mapped_files : {0, 1}) {
    Env env(mapped_files);
    const auto file = Open(&env);
    char scratch[8];
    leveldb::Slice got;
    const leveldb::Status read = file->Read(8, 8, &got, scratch);
    EXPECT_TRUE(!read.ok() || got.ToString() == "89") << mapped_files;
  }
}

TEST_F(LevelEnv, MissingFileIsNotFound) {
  Env env(1);
  leveldb::RandomAccessFile* file = nullptr;
  EXPECT_TRUE(env.NewRandomAccessFile(directory_ + "/absent", &file).IsNotFound());
  EXPECT_EQ(file, nullptr);
}

TEST_F(LevelEnv, EmptyFileCanBeOpened) {
  std::ofstream(File(), std::ios::trunc);
  Env env(1);
  char scratch[1];
  leveldb::Slice got("left over");
  EXPECT_TRUE(Open(&env)->Read(0, 0, &got, scratch).ok());
  EXPECT_TRUE(got.empty());
}

TEST_F(LevelEnv, CountsLogsAndTablesApart) {
  Env env(1);
  for (const auto& [name, bytes] : {std::pair("7.log", 5), {"8.ldb", 7}, {"MANIFEST-1", 11}}) {
    leveldb::WritableFile* file = nullptr;
    ASSERT_TRUE(env.NewWritableFile(directory_ + "/" + name, &file).ok());
    EXPECT_TRUE(file->Append(std::string(static_cast<size_t>(bytes), 'x')).ok());
    EXPECT_TRUE(file->Close().ok());
    delete file;
  }
  EXPECT_EQ(env.log_bytes(), 5u);
  EXPECT_EQ(env.table_bytes(), 7u);
}

// Work that schedules more before it ends, as LevelDB's compactions do.
struct Chain {
  Env* env;
  std::atomic<int> left;

  static void Run(void* raw_chain) {
    auto* chain = static_cast<Chain*>(raw_chain);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (--chain->left > 0) chain->env->Schedule(&Chain::Run, chain);
  }
};

TEST_F(LevelEnv, WaitsForWorkThatSchedulesMore) {
  Env env(1);
  env.WaitForBackgroundWork();
  Chain chain{&env, 20};
  env.Schedule(&Chain::Run, &chain);
  env.WaitForBackgroundWork();
  EXPECT_EQ(chain.left, 0);
}

}  // namespace

}  // namespace kvdyno::level
