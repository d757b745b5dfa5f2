#include "kvdyno/base/testing/fault_file_system.h"

#include <unistd.h>

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <vector>

namespace kvdyno::testing {
namespace {

class FaultFileSystemTest : public ::testing::Test {
 protected:
  FaultFileSystemTest()
      : directory_(::testing::TempDir() + "fault_file_system_test_" + std::to_string(getpid())) {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directory(directory_);
  }
  ~FaultFileSystemTest() override { std::filesystem::remove_all(directory_); }

  std::string Path(const std::string& name) const { return directory_ + "/" + name; }

  // Every call once, in the order of kNames; stops nowhere.
  std::vector<Status> CallEverything() {
    std::vector<Status> results;
    std::unique_ptr<DirectoryLock> lock;
    std::unique_ptr<WritableFile> writing;
    std::unique_ptr<RandomAccessFile> reading;
    std::unique_ptr<MappedFile> mapping;
    std::vector<std::string> names;
    std::string bytes(5, ' ');
    uint64_t size = 0;
    size_t read = 0;
    results.push_back(files_.CreateDirectory(directory_));
    results.push_back(files_.Lock(directory_, &lock));
    results.push_back(files_.Create(Path("a"), false, &writing));
    if (writing) results.push_back(writing->Append("hello"));
    if (writing) results.push_back(writing->Sync());
    results.push_back(files_.SyncDirectory(directory_));
    results.push_back(files_.OpenForRead(Path("a"), false, &reading));
    if (reading) results.push_back(reading->Read(0, 5, bytes.data(), &read));
    results.push_back(files_.Map(Path("m"), 65536, &mapping));
    if (mapping) results.push_back(mapping->Sync());
    results.push_back(files_.PunchHole(Path("m"), 0, 4096));
    results.push_back(files_.Size(Path("a"), &size));
    results.push_back(files_.Truncate(Path("a"), 3));
    results.push_back(files_.List(directory_, &names));
    results.push_back(files_.Rename(Path("a"), Path("b")));
    results.push_back(files_.Remove(Path("b")));
    return results;
  }

  const std::string directory_;
  FaultFileSystem files_{FileSystem::Posix()};
};

const std::vector<std::string> kNames = {
    "mkdir", "lock",         "create", "append", "sync",     "sync directory", "open",   "read",
    "map",   "sync mapping", "punch",  "size",   "truncate", "list",           "rename", "remove"};

TEST_F(FaultFileSystemTest, LetsEveryCallThroughWithoutAPlan) {
  for (const Status& status : CallEverything()) EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(files_.calls(), kNames.size());
}

TEST_F(FaultFileSystemTest, ShowsEveryCallToThePlan) {
  std::vector<std::string> names;
  files_.SetPlan([&](const Call& call) {
    EXPECT_EQ(call.number, names.size());
    EXPECT_TRUE(call.path.starts_with(directory_)) << call.path;
    names.push_back(call.name);
    return Status::Ok();
  });
  for (const Status& status : CallEverything()) EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(names, kNames);
}

TEST_F(FaultFileSystemTest, FailsEachCallByItsNameWithoutReachingTheBase) {
  for (const std::string& name : kNames) {
    files_.SetPlan([&](const Call& call) {
      return call.name == name ? Status::NoSpace("planned " + name) : Status::Ok();
    });
    bool failed = false;
    for (const Status& status : CallEverything()) {
      failed |= status.code() == Code::kNoSpace && status.message() == "planned " + name;
    }
    EXPECT_TRUE(failed) << name;
    files_.SetPlan(nullptr);
    for (const Status& status : CallEverything()) EXPECT_TRUE(status.ok()) << status.ToString();
  }
}

TEST_F(FaultFileSystemTest, FailsOneCallOrAllFromIt) {
  files_.FailCall(1, Status::IoError("planned"));
  uint64_t size = 0;
  EXPECT_TRUE(files_.Size(directory_, &size).ok());
  EXPECT_EQ(files_.Size(directory_, &size).code(), Code::kIoError);
  EXPECT_TRUE(files_.Size(directory_, &size).ok());
  files_.FailFrom(4, Status::IoError("planned"));
  EXPECT_TRUE(files_.Size(directory_, &size).ok());
  EXPECT_EQ(files_.Size(directory_, &size).code(), Code::kIoError);
  EXPECT_EQ(files_.Size(directory_, &size).code(), Code::kIoError);
  EXPECT_EQ(files_.calls(), 6u);
}

TEST_F(FaultFileSystemTest, WritesHalfOfAFailingAppendWhereAsked) {
  std::unique_ptr<WritableFile> file;
  ASSERT_TRUE(files_.Create(Path("a"), false, &file).ok());
  files_.FailFrom(0, Status::IoError("planned"));
  EXPECT_EQ(file->Append("abcdef").code(), Code::kIoError);
  EXPECT_EQ(file->size(), 0u);
  files_.WritePartially(true);
  EXPECT_EQ(file->Append("abcdef").code(), Code::kIoError);
  std::string content;
  ASSERT_TRUE(ReadWholeFile(FileSystem::Posix(), Path("a"), &content).ok());
  EXPECT_EQ(content, "abc");
}

TEST_F(FaultFileSystemTest, CutsDirectAppendsAtWholeBlocks) {
  std::unique_ptr<WritableFile> file;
  ASSERT_TRUE(files_.Create(Path("a"), true, &file).ok());
  files_.FailFrom(0, Status::IoError("planned"));
  files_.WritePartially(true);
  AlignedBuffer buffer(3 * kDirectAlignment);
  std::memset(buffer.data(), 'x', buffer.size());
  EXPECT_EQ(file->Append({buffer.data(), buffer.size()}).code(), Code::kIoError);
  EXPECT_EQ(file->size(), kDirectAlignment);
}

}  // namespace
}  // namespace kvdyno::testing
