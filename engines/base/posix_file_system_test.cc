#include <gtest/gtest.h>
#include <linux/aio_abi.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kvdyno/base/file_system.h"
#include "kvdyno/base/testing/process.h"

namespace kvdyno {
namespace {

constexpr size_t kBlock = kDirectAlignment;

class PosixFileSystemTest : public ::testing::Test {
 protected:
  PosixFileSystemTest()
      : directory_(::testing::TempDir() + "posix_file_system_test_" + std::to_string(getpid())) {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directory(directory_);
  }
  ~PosixFileSystemTest() override { std::filesystem::remove_all(directory_); }

  std::string Path(const std::string& name) const { return directory_ + "/" + name; }

  void Write(const std::string& path, std::string_view content) {
    std::unique_ptr<WritableFile> file;
    ASSERT_TRUE(files_->Create(path, false, &file).ok());
    ASSERT_TRUE(file->Append(content).ok());
  }
  std::string Content(const std::string& path) {
    std::string content;
    const Status status = ReadWholeFile(files_, path, &content);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return content;
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    EXPECT_TRUE(files_->List(directory_, &names).ok());
    std::sort(names.begin(), names.end());
    return names;
  }

  FileSystem* const files_ = FileSystem::Posix();
  const std::string directory_;
};

// Blocks that differ from each other.
AlignedBuffer Blocks(size_t count) {
  AlignedBuffer buffer(count * kBlock);
  for (size_t i = 0; i < buffer.size(); ++i) {
    buffer.data()[i] = static_cast<char>(i / kBlock * 31 + i % 251);
  }
  return buffer;
}

// Runs `body` in a child process; its result is the exit code. A child of a threaded test would be
// trouble; these tests have one thread.
template <typename Body>
int InChild(const Body& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int state = 0;
  EXPECT_EQ(waitpid(child, &state, 0), child);
  return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

class ReadAndWrite : public PosixFileSystemTest, public ::testing::WithParamInterface<bool> {};

TEST_P(ReadAndWrite, ReadsBackWhatWasAppended) {
  const bool direct = GetParam();
  const AlignedBuffer written = Blocks(5);
  std::unique_ptr<WritableFile> out;
  ASSERT_TRUE(files_->Create(Path("f"), direct, &out).ok());
  ASSERT_TRUE(out->Append({written.data(), 2 * kBlock}).ok());
  ASSERT_TRUE(out->Append({written.data() + 2 * kBlock, 3 * kBlock}).ok());
  EXPECT_EQ(out->size(), 5 * kBlock);
  ASSERT_TRUE(out->Sync().ok());

  std::unique_ptr<RandomAccessFile> in;
  ASSERT_TRUE(files_->OpenForRead(Path("f"), direct, &in).ok());
  EXPECT_EQ(in->size(), 5 * kBlock);
  AlignedBuffer buffer(8 * kBlock);
  size_t read = 0;
  ASSERT_TRUE(in->Read(kBlock, 2 * kBlock, buffer.data(), &read).ok());
  EXPECT_EQ(read, 2 * kBlock);
  EXPECT_EQ(std::memcmp(buffer.data(), written.data() + kBlock, read), 0);
  ASSERT_TRUE(in->Read(0, 8 * kBlock, buffer.data(), &read).ok());
  EXPECT_EQ(read, 5 * kBlock);
  EXPECT_EQ(std::memcmp(buffer.data(), written.data(), read), 0);
  ASSERT_TRUE(in->Read(7 * kBlock, kBlock, buffer.data(), &read).ok());
  EXPECT_EQ(read, 0u);
}

TEST_P(ReadAndWrite, ReadsTogetherAsOneByOne) {
  constexpr size_t kBlocks = 100;  // more than are on the way at once
  const AlignedBuffer written = Blocks(kBlocks);
  Write(Path("f"), {written.data(), kBlocks * kBlock - 100});
  Write(Path("g"), {written.data(), kBlocks * kBlock});
  std::unique_ptr<RandomAccessFile> f, g;
  ASSERT_TRUE(files_->OpenForRead(Path("f"), GetParam(), &f).ok());
  ASSERT_TRUE(files_->OpenForRead(Path("g"), !GetParam(), &g).ok());
  AlignedBuffer buffer(2 * kBlocks * kBlock);
  const auto reads_of = [&] {
    std::vector<FileRead> reads;
    for (size_t i = 0; i < 2 * kBlocks; ++i) {
      const size_t block = (i * 37) % kBlocks;
      reads.push_back({(i % 2 == 0 ? f : g).get(), block * kBlock, kBlock,
                       buffer.data() + i * kBlock, 0, Status::IoError("not read")});
    }
    return reads;
  };
  std::vector<FileRead> reads = reads_of();
  files_->ReadTogether(&reads);
  for (const FileRead& read : reads) {
    ASSERT_TRUE(read.status.ok()) << read.status.ToString();
    const bool last = read.file == f.get() && read.offset == (kBlocks - 1) * kBlock;
    ASSERT_EQ(read.read, kBlock - (last ? 100 : 0));
    ASSERT_EQ(std::memcmp(read.buffer, written.data() + read.offset, read.read), 0);
  }
  // One that cannot be done leaves the others alone.
  reads = reads_of();
  reads[5].offset = 1000 * kBlock;
  reads[6].length = 0;
  files_->ReadTogether(&reads);
  for (size_t i = 0; i < reads.size(); ++i) EXPECT_TRUE(reads[i].status.ok()) << i;
  EXPECT_EQ(reads[5].read, 0u);
  EXPECT_EQ(reads[6].read, 0u);
  EXPECT_EQ(reads[7].read, kBlock);
  if (f->direct()) {
    reads = reads_of();
    reads[0].offset = 1;
    files_->ReadTogether(&reads);
    EXPECT_EQ(reads[0].status.code(), Code::kInvalidArgument);
    EXPECT_TRUE(reads[2].status.ok());
  }
}

// The answers are the same if each is read in turn: only the count of calls shows the difference.
TEST_F(PosixFileSystemTest, ReadsTogetherWithoutACallForEach) {
  aio_context_t queue = 0;
  if (::syscall(SYS_io_setup, 1, &queue) != 0) GTEST_SKIP() << "no asynchronous input here";
  ::syscall(SYS_io_destroy, queue);
  const AlignedBuffer written = Blocks(32);
  Write(Path("f"), {written.data(), 32 * kBlock});
  std::unique_ptr<RandomAccessFile> file;
  ASSERT_TRUE(files_->OpenForRead(Path("f"), true, &file).ok());
  if (!file->direct()) GTEST_SKIP() << directory_ << " has no direct input";
  AlignedBuffer buffer(32 * kBlock);
  std::vector<FileRead> reads;
  for (size_t i = 0; i < 32; ++i) {
    reads.push_back({file.get(), i * kBlock, kBlock, buffer.data() + i * kBlock, 0, Status::Ok()});
  }
  const uint64_t before = testing::ProcNumber("/proc/thread-self/io", "syscr:");
  if (before == 0) GTEST_SKIP() << "this kernel counts no calls";
  files_->ReadTogether(&reads);
  EXPECT_LT(testing::ProcNumber("/proc/thread-self/io", "syscr:") - before, 16u);
  EXPECT_EQ(std::memcmp(buffer.data(), written.data(), 32 * kBlock), 0);
}

TEST_F(PosixFileSystemTest, FailedSubmissionsGiveTheirQueueBack) {
  const AlignedBuffer written = Blocks(2);
  Write(Path("f"), {written.data(), 2 * kBlock});
  std::unique_ptr<RandomAccessFile> file;
  ASSERT_TRUE(files_->OpenForRead(Path("f"), true, &file).ok());
  if (!file->direct()) GTEST_SKIP() << directory_ << " has no direct input";
  // The kernel refuses such an address when it is asked, not when it reads.
  char* const nowhere = reinterpret_cast<char*>(uintptr_t{1} << 63);
  constexpr uint64_t kCalls = 500;
  const std::string queued = "/proc/sys/fs/aio-nr";  // of all processes
  const uint64_t before = testing::ProcNumber(queued, "");
  for (uint64_t i = 0; i < kCalls; ++i) {
    std::vector<FileRead> reads(2);
    for (FileRead& read : reads) read = {file.get(), 0, kBlock, nowhere, 0, Status::Ok()};
    files_->ReadTogether(&reads);
    ASSERT_FALSE(reads[0].status.ok());
    ASSERT_FALSE(reads[1].status.ok());
  }
  EXPECT_LT(testing::ProcNumber(queued, ""), before + kCalls * 32 / 2);
}

TEST_F(PosixFileSystemTest, ThreadsReadTogetherBesideEachOther) {
  const AlignedBuffer written = Blocks(64);
  Write(Path("f"), {written.data(), 64 * kBlock});
  std::unique_ptr<RandomAccessFile> file;
  ASSERT_TRUE(files_->OpenForRead(Path("f"), true, &file).ok());
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      AlignedBuffer buffer(16 * kBlock);
      for (size_t round = 0; round < 50; ++round) {
        std::vector<FileRead> reads;
        for (size_t i = 0; i < 16; ++i) {
          const size_t block = (t * 7 + round * 5 + i * 11) % 64;
          reads.push_back(
              {file.get(), block * kBlock, kBlock, buffer.data() + i * kBlock, 0, Status::Ok()});
        }
        files_->ReadTogether(&reads);
        for (const FileRead& read : reads) {
          if (std::memcmp(read.buffer, written.data() + read.offset, kBlock) != 0) ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(ReadAndWrite, ReadsTheEndOfAFileThatEndsWithinABlock) {
  const AlignedBuffer blocks = Blocks(3);
  const size_t size = 2 * kBlock + 100;
  Write(Path("f"), {blocks.data(), size});
  std::unique_ptr<RandomAccessFile> in;
  ASSERT_TRUE(files_->OpenForRead(Path("f"), GetParam(), &in).ok());
  AlignedBuffer buffer(4 * kBlock);
  size_t read = 0;
  ASSERT_TRUE(in->Read(0, 4 * kBlock, buffer.data(), &read).ok());
  EXPECT_EQ(read, size);
  EXPECT_EQ(std::memcmp(buffer.data(), blocks.data(), read), 0);
  ASSERT_TRUE(in->Read(2 * kBlock, kBlock, buffer.data(), &read).ok());
  EXPECT_EQ(read, 100u);
}

TEST_P(ReadAndWrite, CreatingEmptiesAnExistingFile) {
  Write(Path("f"), "old");
  std::unique_ptr<WritableFile> out;
  ASSERT_TRUE(files_->Create(Path("f"), GetParam(), &out).ok());
  EXPECT_EQ(Content(Path("f")), "");
}

TEST_P(ReadAndWrite, ReturnsNotFoundAndNamesTheFile) {
  std::unique_ptr<RandomAccessFile> in;
  const Status status = files_->OpenForRead(Path("nothing"), GetParam(), &in);
  EXPECT_TRUE(status.not_found());
  EXPECT_NE(status.message().find("open " + Path("nothing") + ": "), std::string::npos)
      << status.message();
}

INSTANTIATE_TEST_SUITE_P(Direct, ReadAndWrite, ::testing::Bool(),
                         [](const auto& p) { return p.param ? "Direct" : "Buffered"; });

TEST_F(PosixFileSystemTest, AsksForAlignmentOfDirectTransfers) {
  AlignedBuffer blocks = Blocks(2);
  std::unique_ptr<WritableFile> out;
  ASSERT_TRUE(files_->Create(Path("f"), true, &out).ok());
  EXPECT_EQ(out->Append({blocks.data(), 100}).code(), Code::kInvalidArgument);
  EXPECT_EQ(out->Append({blocks.data() + 8, kBlock}).code(), Code::kInvalidArgument);
  EXPECT_TRUE(out->Append({blocks.data(), kBlock}).ok());
  std::unique_ptr<RandomAccessFile> in;
  ASSERT_TRUE(files_->OpenForRead(Path("f"), true, &in).ok());
  if (!in->direct()) GTEST_SKIP() << directory_ << " has no direct input";
  size_t read = 0;
  EXPECT_EQ(in->Read(1, kBlock, blocks.data(), &read).code(), Code::kInvalidArgument);
  EXPECT_EQ(in->Read(0, 17, blocks.data(), &read).code(), Code::kInvalidArgument);
  EXPECT_EQ(in->Read(0, kBlock, blocks.data() + 1, &read).code(), Code::kInvalidArgument);
}

TEST_P(ReadAndWrite, ReadsInUnitsOfItsAlignment) {
  const AlignedBuffer written = Blocks(3);
  Write(Path("f"), {written.data(), 3 * kBlock});
  std::unique_ptr<RandomAccessFile> in;
  ASSERT_TRUE(files_->OpenForRead(Path("f"), GetParam(), &in).ok());
  const size_t unit = in->alignment();
  EXPECT_EQ(kDirectAlignment % unit, 0u);
  EXPECT_EQ(unit == 1, !in->direct());
  AlignedBuffer buffer(4 * kBlock);
  std::vector<FileRead> reads;
  for (size_t i = 1; i <= 3; ++i) {
    size_t read = 0;
    ASSERT_TRUE(in->Read(i * unit, kBlock, buffer.data() + unit, &read).ok());
    ASSERT_EQ(read, kBlock);
    EXPECT_EQ(std::memcmp(buffer.data() + unit, written.data() + i * unit, kBlock), 0);
    reads.push_back({in.get(), i * unit, unit, buffer.data() + i * unit, 0, Status::Ok()});
  }
  files_->ReadTogether(&reads);
  for (const FileRead& read : reads) {
    ASSERT_TRUE(read.status.ok()) << read.status.ToString();
    ASSERT_EQ(read.read, unit);
    EXPECT_EQ(std::memcmp(read.buffer, written.data() + read.offset, unit), 0);
  }
}

TEST_F(PosixFileSystemTest, MappingSurvivesReopening) {
  constexpr size_t kSize = size_t{256} * 1024;
  {
    std::unique_ptr<MappedFile> mapped;
    ASSERT_TRUE(files_->Map(Path("m"), kSize, &mapped).ok());
    ASSERT_EQ(mapped->size(), kSize);
    EXPECT_EQ(std::count(mapped->data(), mapped->data() + kSize, '\0'), std::ptrdiff_t{kSize});
    std::memcpy(mapped->data() + 70'000, "stored", 6);
    EXPECT_EQ(Content(Path("m")).substr(70'000, 6), "stored");
    EXPECT_TRUE(mapped->Sync(70'003, 2).ok());  // within a page
    EXPECT_TRUE(mapped->Sync(kSize - 1, 100).ok());
    EXPECT_TRUE(mapped->Sync(kSize, 0).ok());
    ASSERT_TRUE(mapped->Sync().ok());
    EXPECT_EQ(Names(), std::vector<std::string>{"m"});
  }
  std::unique_ptr<MappedFile> mapped;
  ASSERT_TRUE(files_->Map(Path("m"), kSize, &mapped).ok());
  EXPECT_EQ(std::string_view(mapped->data() + 70'000, 6), "stored");
}

TEST_F(PosixFileSystemTest, WhatIsForgottenLeavesMemoryAndStaysInTheFile) {
  constexpr size_t kSize = size_t{1} << 20;
  std::unique_ptr<MappedFile> mapped;
  ASSERT_TRUE(files_->Map(Path("m"), kSize, &mapped).ok());
  std::memset(mapped->data(), 'x', kSize);
  EXPECT_EQ(mapped->resident(), kSize);
  mapped->Forget(kSize / 2, kSize);
  EXPECT_GE(mapped->resident(), kSize / 2) << "what was not synced may stay";
  ASSERT_TRUE(mapped->Sync().ok());
  mapped->Forget(kSize / 2 + 1, kSize);
  struct statfs about;
  ASSERT_EQ(statfs(Path("m").c_str(), &about), 0);
  if (about.f_type != TMPFS_MAGIC) {
    EXPECT_LT(mapped->resident(), kSize / 2 + 8192);
  }
  EXPECT_GE(mapped->resident(), kSize / 2) << "the rest stays";
  EXPECT_EQ(std::count(mapped->data(), mapped->data() + kSize, 'x'), std::ptrdiff_t{kSize});
  mapped->Forget(kSize - 1, 1);  // no whole page
  mapped->Forget(kSize, 1);
}

TEST_F(PosixFileSystemTest, WhatIsReadAheadComesToMemory) {
  constexpr size_t kSize = size_t{1} << 20;
  std::unique_ptr<MappedFile> mapped;
  ASSERT_TRUE(files_->Map(Path("m"), kSize, &mapped).ok());
  std::memset(mapped->data(), 'x', kSize);
  ASSERT_TRUE(mapped->Sync().ok());
  mapped->Forget(0, kSize);
  mapped->ReadAhead(kSize / 2, kSize);
  while (mapped->resident() < kSize / 2) std::this_thread::yield();  // it is on its way
  mapped->ReadAhead(kSize, 1);
}

TEST_F(PosixFileSystemTest, MappedStoresSurviveAKilledProcess) {
  EXPECT_EQ(InChild([&] {
              std::unique_ptr<MappedFile> mapped;
              if (!files_->Map(Path("m"), 65536, &mapped).ok()) return 1;
              std::memcpy(mapped->data() + 5000, "stored", 6);
              return kill(getpid(), SIGKILL);
            }),
            -1);
  EXPECT_EQ(Content(Path("m")).substr(5000, 6), "stored");
}

TEST_F(PosixFileSystemTest, MapAllocatesTheBlocksOfNewAndOfSparseFiles) {
  constexpr size_t kSize = size_t{512} * 1024;
  std::unique_ptr<MappedFile> mapped;
  ASSERT_TRUE(files_->Map(Path("new"), kSize, &mapped).ok());
  Write(Path("sparse"), "start");
  ASSERT_TRUE(files_->Truncate(Path("sparse"), kSize).ok());
  ASSERT_TRUE(files_->Map(Path("sparse"), kSize, &mapped).ok());
  EXPECT_EQ(std::string_view(mapped->data(), 5), "start");
  for (const char* name : {"new", "sparse"}) {
    struct stat about;
    ASSERT_EQ(stat(Path(name).c_str(), &about), 0);
    EXPECT_GE(static_cast<size_t>(about.st_blocks) * 512, kSize) << name;
  }
}

TEST_F(PosixFileSystemTest, MapRefusesAnotherSize) {
  std::unique_ptr<MappedFile> mapped;
  ASSERT_TRUE(files_->Map(Path("m"), 65536, &mapped).ok());
  const Status status = files_->Map(Path("m"), 131072, &mapped);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "map " + Path("m") + ": expected 131072 bytes, got 65536");
  EXPECT_EQ(files_->Map(Path("n"), 0, &mapped).code(), Code::kInvalidArgument);
  EXPECT_FALSE(files_->Exists(Path("n")));
}

TEST_F(PosixFileSystemTest, LockExcludesAnotherStoreOfThisProcess) {
  std::unique_ptr<DirectoryLock> first;
  std::unique_ptr<DirectoryLock> second;
  ASSERT_TRUE(files_->Lock(directory_, &first).ok());
  // Another spelling of the path makes no difference.
  const Status status = files_->Lock(directory_ + "/.", &second);
  EXPECT_EQ(status.code(), Code::kBusy);
  EXPECT_NE(status.message().find("this same process " + std::to_string(getpid())),
            std::string::npos)
      << status.message();
  first.reset();
  EXPECT_TRUE(files_->Lock(directory_, &second).ok());
}

TEST_F(PosixFileSystemTest, LockExcludesAnotherProcessAndNamesTheHolder) {
  std::unique_ptr<DirectoryLock> lock;
  ASSERT_TRUE(files_->Lock(directory_, &lock).ok());
  const std::string holder = "got process " + std::to_string(getpid());
  EXPECT_EQ(InChild([&] {
              std::unique_ptr<DirectoryLock> mine;
              const Status status = files_->Lock(directory_, &mine);
              if (status.code() != Code::kBusy) return 1;
              return status.message().find(holder) == std::string::npos ? 2 : 0;
            }),
            0);
}

TEST_F(PosixFileSystemTest, AForkedChildNeitherReleasesNorKeepsTheLock) {
  std::unique_ptr<DirectoryLock> lock;
  std::unique_ptr<DirectoryLock> other;
  ASSERT_TRUE(files_->Lock(directory_, &lock).ok());
  EXPECT_EQ(InChild([&] {
              lock.reset();
              return 0;
            }),
            0);
  EXPECT_EQ(files_->Lock(directory_, &other).code(), Code::kBusy);

  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[1]);
    char byte = 0;
    [[maybe_unused]] const ssize_t got = read(ends[0], &byte, 1);  // until the parent closes it
    _exit(0);
  }
  lock.reset();
  EXPECT_TRUE(files_->Lock(directory_, &other).ok());
  close(ends[0]);
  close(ends[1]);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
}

TEST_F(PosixFileSystemTest, SharedLocksExcludeOnlyTheOther) {
  std::unique_ptr<DirectoryLock> alone, shared[2];
  ASSERT_TRUE(files_->LockShared(directory_, &shared[0]).ok());
  EXPECT_EQ(shared[0], nullptr) << "there is no file yet, and none is made";
  EXPECT_EQ(Names(), std::vector<std::string>{});
  ASSERT_TRUE(files_->Lock(directory_, &alone).ok());
  const Status busy = files_->LockShared(directory_, &shared[0]);
  EXPECT_EQ(busy.code(), Code::kBusy) << busy.ToString();
  EXPECT_NE(busy.message().find("process " + std::to_string(::getpid())), std::string::npos);
  alone.reset();
  for (auto& each : shared) ASSERT_TRUE(files_->LockShared(directory_, &each).ok());
  const Status read = files_->Lock(directory_, &alone);
  EXPECT_EQ(read.code(), Code::kBusy);
  EXPECT_NE(read.message().find("got a reader"), std::string::npos) << read.ToString();
  for (auto& each : shared) each.reset();
  EXPECT_TRUE(files_->Lock(directory_, &alone).ok());
}

TEST_F(PosixFileSystemTest, LockEndsWithItsProcess) {
  EXPECT_EQ(InChild([&] {
              std::unique_ptr<DirectoryLock> lock;
              if (!files_->Lock(directory_, &lock).ok()) return 1;
              return kill(getpid(), SIGKILL);
            }),
            -1);
  std::unique_ptr<DirectoryLock> lock;
  EXPECT_TRUE(files_->Lock(directory_, &lock).ok());
}

TEST_F(PosixFileSystemTest, PunchesWholeBlocksOnly) {
  const AlignedBuffer blocks = Blocks(4);
  Write(Path("f"), {blocks.data(), blocks.size()});
  const Status status = files_->PunchHole(Path("f"), 100, 3 * kBlock);
  if (status.code() == Code::kUnsupported) GTEST_SKIP() << status.message();
  ASSERT_TRUE(status.ok()) << status.ToString();
  std::string expected(blocks.data(), blocks.size());
  std::fill(expected.begin() + kBlock, expected.begin() + 3 * kBlock, '\0');
  EXPECT_EQ(Content(Path("f")), expected);
  EXPECT_TRUE(files_->PunchHole(Path("f"), 1, kBlock).ok());
  EXPECT_EQ(Content(Path("f")), expected);
}

TEST_F(PosixFileSystemTest, ChangesNamesAndSizes) {
  ASSERT_TRUE(files_->CreateDirectory(Path("d")).ok());
  EXPECT_TRUE(files_->CreateDirectory(Path("d")).ok());
  Write(Path("a"), "hello");
  EXPECT_EQ(files_->CreateDirectory(Path("a")).code(), Code::kIoError);
  uint64_t size = 0;
  ASSERT_TRUE(files_->Size(Path("a"), &size).ok());
  EXPECT_EQ(size, 5u);
  ASSERT_TRUE(files_->Truncate(Path("a"), 2).ok());
  EXPECT_EQ(Content(Path("a")), "he");
  ASSERT_TRUE(files_->Rename(Path("a"), Path("b")).ok());
  EXPECT_FALSE(files_->Exists(Path("a")));
  EXPECT_TRUE(files_->Exists(Path("b")));
  EXPECT_TRUE(files_->SyncDirectory(directory_).ok());
  EXPECT_EQ(Names(), (std::vector<std::string>{"b", "d"}));
  EXPECT_EQ(files_->Rename(Path("b"), Path("d/b")).code(), Code::kOk);
  EXPECT_EQ(files_->Remove(Path("d")).code(), Code::kIoError) << "not empty";
  ASSERT_TRUE(files_->Remove(Path("d/b")).ok());
  EXPECT_EQ(Names(), std::vector<std::string>{"d"});
  ASSERT_TRUE(files_->Remove(Path("d")).ok());
  EXPECT_EQ(Names(), std::vector<std::string>{});
}

TEST_F(PosixFileSystemTest, ReturnsNotFoundForWhatIsNotThere) {
  const std::string nothing = Path("nothing");
  const std::string below = nothing + "/x";
  std::unique_ptr<WritableFile> out;
  std::unique_ptr<MappedFile> mapped;
  std::unique_ptr<DirectoryLock> lock;
  std::vector<std::string> names;
  std::string content;
  uint64_t size = 0;
  const std::pair<const char*, Status> results[] = {
      {"Create", files_->Create(below, false, &out)},
      {"Map", files_->Map(below, kBlock, &mapped)},
      {"Rename", files_->Rename(nothing, Path("x"))},
      {"Remove", files_->Remove(nothing)},
      {"Truncate", files_->Truncate(nothing, 0)},
      {"PunchHole", files_->PunchHole(nothing, 0, kBlock)},
      {"CreateDirectory", files_->CreateDirectory(below)},
      {"SyncDirectory", files_->SyncDirectory(nothing)},
      {"List", files_->List(nothing, &names)},
      {"Size", files_->Size(nothing, &size)},
      {"Lock", files_->Lock(nothing, &lock)},
      {"ReadWholeFile", ReadWholeFile(files_, nothing, &content)}};
  for (const auto& [call, status] : results) {
    EXPECT_TRUE(status.not_found()) << call << ": " << status.ToString();
    EXPECT_NE(status.message().find(nothing), std::string::npos) << call;
  }
  EXPECT_FALSE(files_->Exists(nothing));
}

TEST_F(PosixFileSystemTest, ReplacesAFileWhole) {
  ASSERT_TRUE(ReplaceFile(files_, directory_, "f", "first").ok());
  EXPECT_EQ(Content(Path("f")), "first");
  ASSERT_TRUE(ReplaceFile(files_, directory_, "f", "2").ok());
  EXPECT_EQ(Content(Path("f")), "2");
  EXPECT_EQ(Names(), std::vector<std::string>{"f"});
}

TEST_F(PosixFileSystemTest, AFailedReplacementLeavesTheOldContentAndNothingElse) {
  // A directory in the place of the file: the rename fails.
  ASSERT_TRUE(files_->CreateDirectory(Path("f")).ok());
  EXPECT_EQ(ReplaceFile(files_, directory_, "f", "x").code(), Code::kIoError);
  EXPECT_EQ(Names(), std::vector<std::string>{"f"});
}

TEST_F(PosixFileSystemTest, ALimitOnFileSizeIsNoSpace) {
  EXPECT_EQ(InChild([&] {
              std::signal(SIGXFSZ, SIG_IGN);
              const rlimit limit = {2 * kBlock, 2 * kBlock};
              if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
              std::unique_ptr<WritableFile> out;
              if (!files_->Create(Path("f"), false, &out).ok()) return 2;
              const Status status = out->Append(std::string(3 * kBlock, 'x'));
              if (status.code() != Code::kNoSpace) return 3;
              if (status.message().find("at offset 8192") == std::string::npos) return 4;
              std::unique_ptr<MappedFile> mapped;
              if (files_->Map(Path("m"), 3 * kBlock, &mapped).code() != Code::kNoSpace) return 5;
              return files_->Exists(Path("m")) || files_->Exists(Path("m.new")) ? 6 : 0;
            }),
            0);
}

// A file system of its own, mounted for one test.
class TinyMountTest : public PosixFileSystemTest {
 protected:
  bool Mount(unsigned long flags) {
    mounted_ = mount("tmpfs", directory_.c_str(), "tmpfs", flags, "size=65536") == 0;
    return mounted_;
  }
  ~TinyMountTest() override {
    if (mounted_) umount(directory_.c_str());
  }

 private:
  bool mounted_ = false;
};

TEST_F(TinyMountTest, AFullDiskIsNoSpaceUntilThereIsRoomAgain) {
  if (!Mount(0)) GTEST_SKIP() << "cannot mount a tmpfs here: " << std::strerror(errno);
  std::unique_ptr<MappedFile> mapped;
  EXPECT_EQ(files_->Map(Path("m"), 131072, &mapped).code(), Code::kNoSpace);
  EXPECT_EQ(Names(), std::vector<std::string>{});
  ASSERT_TRUE(files_->Map(Path("m"), 32768, &mapped).ok());
  std::unique_ptr<WritableFile> out;
  ASSERT_TRUE(files_->Create(Path("f"), false, &out).ok());
  const std::string half(32768, 'x');
  ASSERT_TRUE(out->Append(half).ok());
  const Status status = out->Append(half);
  EXPECT_EQ(status.code(), Code::kNoSpace);
  EXPECT_EQ(out->size(), half.size());
  std::unique_ptr<DirectoryLock> lock;
  EXPECT_TRUE(files_->Lock(directory_, &lock).ok()) << "a full disk must not prevent opening";
  mapped.reset();
  ASSERT_TRUE(files_->Remove(Path("m")).ok());
  EXPECT_TRUE(out->Append("y").ok());
  EXPECT_EQ(Content(Path("f")), half + "y");
}

// A store to a mapped page without a block raises SIGBUS.
TEST_F(TinyMountTest, PopulateFailsWhereAStoreWouldRaiseASignal) {
  if (!Mount(0)) GTEST_SKIP() << "cannot mount a tmpfs here: " << std::strerror(errno);
  std::unique_ptr<MappedFile> mapped;
  ASSERT_TRUE(files_->Map(Path("m"), 32768, &mapped).ok());
  EXPECT_TRUE(mapped->Populate(0, 32768).ok());
  ASSERT_TRUE(files_->PunchHole(Path("m"), 0, 32768).ok());
  std::unique_ptr<WritableFile> out;
  ASSERT_TRUE(files_->Create(Path("f"), false, &out).ok());
  while (out->Append(std::string(4096, 'x')).ok()) {
  }
  // Before Linux 5.14 Populate checks nothing, as its comment explains.
  alignas(kDirectAlignment) static char page[kDirectAlignment];
  constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, which older headers lack
  if (::madvise(page, sizeof page, kPopulateWrite) != 0) {
    GTEST_SKIP() << "this kernel lacks MADV_POPULATE_WRITE";
  }
  const Status status = mapped->Populate(4096, 100);
  EXPECT_EQ(status.code(), Code::kIoError) << status.ToString();
  out.reset();
  ASSERT_TRUE(files_->Remove(Path("f")).ok());
  EXPECT_TRUE(mapped->Populate(4096, 100).ok());
  mapped->data()[4096] = 'y';
}

TEST_F(TinyMountTest, ReadOnlyMediaCanBeLockedAndRead) {
  if (!Mount(0)) GTEST_SKIP() << "cannot mount a tmpfs here: " << std::strerror(errno);
  Write(Path("LOCK"), "");
  Write(Path("f"), "hello");
  ASSERT_EQ(mount(nullptr, directory_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
  std::unique_ptr<DirectoryLock> lock;
  std::unique_ptr<DirectoryLock> second;
  std::unique_ptr<WritableFile> out;
  std::unique_ptr<MappedFile> mapped;
  EXPECT_TRUE(files_->Lock(directory_, &lock).ok());
  EXPECT_EQ(files_->Lock(directory_, &second).code(), Code::kBusy);
  EXPECT_EQ(Content(Path("f")), "hello");
  EXPECT_EQ(files_->Create(Path("g"), false, &out).code(), Code::kReadOnly);
  EXPECT_EQ(files_->Map(Path("m"), kBlock, &mapped).code(), Code::kReadOnly);
  EXPECT_EQ(files_->Truncate(Path("f"), 0).code(), Code::kReadOnly);
  EXPECT_EQ(files_->Rename(Path("f"), Path("g")).code(), Code::kReadOnly);
  EXPECT_EQ(files_->Remove(Path("f")).code(), Code::kReadOnly);
}

TEST(AlignedBuffer, IsAlignedAndMovable) {
  AlignedBuffer buffer(100);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % kDirectAlignment, 0u);
  EXPECT_EQ(buffer.size(), 100u);
  std::memset(buffer.data(), 'x', buffer.size());
  const AlignedBuffer moved = std::move(buffer);
  EXPECT_EQ(std::string_view(moved.data(), moved.size()), std::string(100, 'x'));
  EXPECT_EQ(AlignedBuffer().size(), 0u);
}

}  // namespace
}  // namespace kvdyno
