#include "info_log.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace kvdyno::rocks {

namespace {

namespace fs = std::filesystem;

class RocksInfoLog : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(directory_.data()), nullptr); }
  void TearDown() override { fs::remove_all(directory_); }

  Status Open(const std::string& directory) { return OpenInfoLog(directory, options_, &log_); }

  static std::string Text(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  // mkdtemp's template.
  std::string directory_ = fs::temp_directory_path() / "kvdyno-log-XXXXXX";
  rocksdb::DBOptions options_;
  std::shared_ptr<rocksdb::Logger> log_;
};

TEST_F(RocksInfoLog, LinesOfAnyLengthAreAppended) {
  for (const std::string& words : {std::string("first"), std::string(5000, 'x')}) {
    ASSERT_TRUE(Open(directory_).ok());
    rocksdb::Info(log_, "%s of %d", words.c_str(), 2);
    log_.reset();
  }
  const std::string text = Text(fs::path(directory_) / "LOG");
  EXPECT_NE(text.find(" first of 2\n"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with(" " + std::string(5000, 'x') + " of 2\n")) << text;
}

TEST_F(RocksInfoLog, LiesWhereTheOptionsSay) {
  options_.db_log_dir = directory_ + "/elsewhere";
  ASSERT_TRUE(Open(directory_ + "/store").ok());
  EXPECT_TRUE(fs::exists(directory_ + "/elsewhere/LOG"));
  EXPECT_FALSE(fs::exists(directory_ + "/store"));
}

TEST_F(RocksInfoLog, KeepsToTheLevel) {
  options_.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
  ASSERT_TRUE(Open(directory_).ok());
  rocksdb::Info(log_, "unwanted");
  rocksdb::Warn(log_, "wanted");
  const std::string text = Text(fs::path(directory_) / "LOG");
  EXPECT_EQ(text.find("unwanted"), std::string::npos) << text;
  EXPECT_NE(text.find("[WARN] wanted\n"), std::string::npos) << text;
}

TEST_F(RocksInfoLog, OutlivesADiskWithoutRoom) {
  fs::create_symlink("/dev/full", fs::path(directory_) / "LOG");
  ASSERT_TRUE(Open(directory_).ok());
  for (int line = 0; line < 10; line++) rocksdb::Error(log_, "lost");
}

TEST_F(RocksInfoLog, NamesWhatCouldNotBeOpened) {
  fs::create_directory(fs::path(directory_) / "LOG");
  const Status opened = Open(directory_);
  EXPECT_NE(opened.ToString().find("open " + directory_ + "/LOG: "), std::string::npos)
      << opened.ToString();
  EXPECT_FALSE(opened.ok());
}

}  // namespace

}  // namespace kvdyno::rocks
