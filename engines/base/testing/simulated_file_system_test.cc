#include "kvdyno/base/testing/simulated_file_system.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>
#include <thread>

namespace kvdyno::testing {
namespace {

constexpr size_t kSector = 512;
constexpr size_t kPage = 4096;

class SimulatedFileSystemTest : public ::testing::Test {
 protected:
  SimulatedFileSystemTest() { EXPECT_TRUE(files_.CreateDirectory("/db").ok()); }

  static void Ok(const Status& status) { EXPECT_TRUE(status.ok()) << status.ToString(); }
  static void Fails(Code code, const Status& status) {
    EXPECT_EQ(status.code(), code) << status.ToString();
  }
  std::unique_ptr<WritableFile> Create(const std::string& path, std::string_view content = {}) {
    std::unique_ptr<WritableFile> file;
    Ok(files_.Create(path, false, &file));
    Ok(file->Append(content));
    return file;
  }
  void CreateDurable(const std::string& path, std::string_view content) {
    Ok(Create(path, content)->Sync());
    Ok(files_.SyncDirectory("/"));
    Ok(files_.SyncDirectory("/db"));
  }
  std::unique_ptr<MappedFile> MapDurable(const std::string& path, size_t size) {
    std::unique_ptr<MappedFile> file;
    Ok(files_.Map(path, size, &file));
    Ok(files_.SyncDirectory("/"));
    Ok(files_.SyncDirectory("/db"));
    return file;
  }
  std::string Read(const std::string& path) {
    std::string content;
    Ok(ReadWholeFile(&files_, path, &content));
    return content;
  }
  void Cycle(Loss loss) {
    files_.LosePower(loss);
    files_.Restart();
  }

  SimulatedFileSystem files_{1};
};

using Simulated = SimulatedFileSystemTest;

TEST_F(Simulated, IsAnOrdinaryFileSystemWhileThePowerIsOn) {
  auto file = Create("/db/a", "hello ");
  Ok(file->Append(std::string(2 * kPage, 'x')));
  EXPECT_EQ(file->size(), 2 * kPage + 6);
  EXPECT_EQ(Read("/db/a"), "hello " + std::string(2 * kPage, 'x'));
  Ok(files_.Rename("/db/a", "/db/b"));
  EXPECT_FALSE(files_.Exists("/db/a"));
  EXPECT_TRUE(files_.Exists("db//b"));
  Ok(files_.Truncate("/db/b", 5));
  EXPECT_EQ(Read("/db/b"), "hello");
  Ok(files_.Truncate("/db/b", 7));
  EXPECT_EQ(Read("/db/b"), std::string("hello\0\0", 7));
  uint64_t size = 0;
  Ok(files_.Size("/db/b", &size));
  EXPECT_EQ(size, 7u);
  Ok(files_.CreateDirectory("/db/inner"));
  Ok(files_.CreateDirectory("/db/inner"));
  std::vector<std::string> names;
  Ok(files_.List("/db", &names));
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()),
            (std::set<std::string>{"b", "inner"}));
  Ok(files_.Remove("/db/b"));
  EXPECT_FALSE(files_.Exists("/db/b"));
  Create("/db/inner/c");
  Fails(Code::kIoError, files_.Remove("/db/inner"));
  Ok(files_.Remove("/db/inner/c"));
  Ok(files_.Remove("/db/inner"));
  EXPECT_FALSE(files_.Exists("/db/inner"));
}

TEST_F(Simulated, NamesWhatIsMissingOrOfAnotherKind) {
  std::unique_ptr<RandomAccessFile> reader;
  std::unique_ptr<WritableFile> writer;
  std::unique_ptr<MappedFile> mapping;
  std::unique_ptr<DirectoryLock> lock;
  std::vector<std::string> names;
  uint64_t size = 0;
  Create("/db/file");
  for (const char* path : {"/db/none", "/none/file", "/db/file/below"}) {
    Fails(Code::kNotFound, files_.OpenForRead(path, false, &reader));
    Fails(Code::kNotFound, files_.Size(path, &size));
    Fails(Code::kNotFound, files_.Remove(path));
    Fails(Code::kNotFound, files_.Truncate(path, 1));
    Fails(Code::kNotFound, files_.PunchHole(path, 0, 1));
    Fails(Code::kNotFound, files_.Rename(path, "/db/to"));
    Fails(Code::kNotFound, files_.SyncDirectory(path));
    Fails(Code::kNotFound, files_.List(path, &names));
    Fails(Code::kNotFound, files_.Flip(path, 0));
  }
  Fails(Code::kNotFound, files_.Create("/none/file", false, &writer));
  Fails(Code::kNotFound, files_.Map("/none/file", kPage, &mapping));
  Fails(Code::kNotFound, files_.Rename("/db/file", "/none/file"));
  Fails(Code::kNotFound, files_.CreateDirectory("/none/inner"));
  Fails(Code::kNotFound, files_.Lock("/none", &lock));
  Fails(Code::kIoError, files_.Create("/db", false, &writer));
  Fails(Code::kIoError, files_.CreateDirectory("/db/file"));
  Fails(Code::kIoError, files_.List("/db/file", &names));
  EXPECT_EQ(files_.OpenForRead("/db/none", false, &reader).message(),
            "open /db/none: expected a file, got none");
}

TEST_F(Simulated, AnOpenFileOutlivesItsName) {
  CreateDurable("/db/a", "content");
  std::unique_ptr<RandomAccessFile> reader;
  Ok(files_.OpenForRead("/db/a", false, &reader));
  Ok(files_.Remove("/db/a"));
  Create("/db/a", "another");
  char buffer[16];
  size_t read = 0;
  Ok(reader->Read(3, sizeof buffer, buffer, &read));
  EXPECT_EQ(std::string_view(buffer, read), "tent");
}

TEST_F(Simulated, DropAllLosesWhatWasNotSynced) {
  CreateDurable("/db/kept", "durable");
  auto file = Create("/db/grown", "durable");
  Ok(file->Sync());
  Ok(files_.SyncDirectory("/db"));
  Ok(file->Append(" and more"));
  Ok(Create("/db/new", "content")->Sync());
  Cycle(Loss::kDropAll);
  EXPECT_EQ(Read("/db/kept"), "durable");
  EXPECT_EQ(Read("/db/grown"), "durable");
  EXPECT_FALSE(files_.Exists("/db/new"));
}

TEST_F(Simulated, KeepAllLosesNothing) {
  CreateDurable("/db/a", "old");
  Create("/db/a", "new");
  Create("/db/b", "other");
  Ok(files_.Rename("/db/b", "/db/c"));
  std::unique_ptr<MappedFile> mapping;
  Ok(files_.Map("/db/m", kPage, &mapping));
  std::memcpy(mapping->data() + 7, "stored", 6);
  Cycle(Loss::kKeepAll);
  EXPECT_EQ(Read("/db/a"), "new");
  EXPECT_EQ(Read("/db/c"), "other");
  EXPECT_FALSE(files_.Exists("/db/b"));
  EXPECT_EQ(Read("/db/m").substr(7, 6), "stored");
  Cycle(Loss::kDropAll);
  EXPECT_EQ(Read("/db/c"), "other") << "what survived once is durable";
}

TEST_F(Simulated, ADirectoryNeedsItsParentsSync) {
  Ok(Create("/db/a", "content")->Sync());
  Ok(files_.SyncDirectory("/db"));
  Cycle(Loss::kDropAll);
  EXPECT_FALSE(files_.Exists("/db"));
}

TEST_F(Simulated, ContentNeedsItsOwnSync) {
  Create("/db/a", "content");
  Ok(files_.SyncDirectory("/"));
  Ok(files_.SyncDirectory("/db"));
  Cycle(Loss::kDropAll);
  EXPECT_EQ(Read("/db/a"), "");
}

TEST_F(Simulated, ARemovedFileComesBackWithItsDurableContent) {
  CreateDurable("/db/a", "durable");
  Ok(files_.Remove("/db/a"));
  Cycle(Loss::kDropAll);
  EXPECT_EQ(Read("/db/a"), "durable");
  Ok(files_.Remove("/db/a"));
  Ok(files_.SyncDirectory("/db"));
  Cycle(Loss::kDropAll);
  EXPECT_FALSE(files_.Exists("/db/a"));
}

TEST_F(Simulated, TruncationsAndHolesNeedASync) {
  const std::string content(3 * kPage, 'x');
  CreateDurable("/db/truncated", content);
  CreateDurable("/db/punched", content);
  CreateDurable("/db/emptied", content);
  Ok(files_.Truncate("/db/truncated", 100));
  Ok(files_.PunchHole("/db/punched", 1, 2 * kPage));
  std::string holed = content;
  std::fill_n(holed.begin() + kPage, kPage, '\0');
  EXPECT_EQ(Read("/db/punched"), holed) << "rounded inwards";
  auto emptied = Create("/db/emptied", "y");
  Cycle(Loss::kDropAll);
  EXPECT_EQ(Read("/db/truncated"), content);
  EXPECT_EQ(Read("/db/punched"), content);
  EXPECT_EQ(Read("/db/emptied"), content);
  emptied = Create("/db/emptied", "y");
  Ok(emptied->Sync());
  Cycle(Loss::kDropAll);
  EXPECT_EQ(Read("/db/emptied"), "y");
}

TEST_F(Simulated, ARegrownFileHasNothingOfWhatWasCutOff) {
  CreateDurable("/db/a", std::string(3 * kPage, 'x'));
  auto file = Create("/db/a", "y");
  Ok(files_.Truncate("/db/a", 3 * kPage));
  Ok(file->Sync());
  std::string expected(3 * kPage, '\0');
  expected[0] = 'y';
  EXPECT_EQ(Read("/db/a"), expected);
  Cycle(Loss::kDropAll);
  EXPECT_EQ(Read("/db/a"), expected);
}

TEST_F(Simulated, HandlesOpenedBeforeThePowerLossFailAndMappedStoresGoNowhere) {
  auto writer = Create("/db/a", "content");
  std::unique_ptr<RandomAccessFile> reader;
  Ok(files_.OpenForRead("/db/a", false, &reader));
  auto mapping = MapDurable("/db/m", 2 * kPage);
  files_.LosePower(Loss::kKeepAll);
  for (int powered = 0; powered < 2; ++powered) {
    char byte = 0;
    size_t read = 0;
    Fails(Code::kIoError, reader->Read(0, 1, &byte, &read));
    Fails(Code::kIoError, writer->Append("x"));
    Fails(Code::kIoError, writer->Sync());
    mapping->data()[kPage] = 'x';
    Fails(Code::kIoError, mapping->Sync());
    if (powered == 0) files_.Restart();
  }
  EXPECT_EQ(Read("/db/a"), "content");
  EXPECT_EQ(Read("/db/m"), std::string(2 * kPage, '\0'));
  mapping.reset();
  reader.reset();
  EXPECT_EQ(Read("/db/m"), std::string(2 * kPage, '\0'));
}

TEST_F(Simulated, NothingWorksWithoutPower) {
  CreateDurable("/db/a", "content");
  EXPECT_FALSE(files_.power_lost());
  files_.LosePower(Loss::kDropAll);
  EXPECT_TRUE(files_.power_lost());
  std::unique_ptr<RandomAccessFile> reader;
  std::unique_ptr<WritableFile> writer;
  std::unique_ptr<MappedFile> mapping;
  std::unique_ptr<DirectoryLock> lock;
  std::vector<std::string> names;
  uint64_t size = 0;
  Fails(Code::kIoError, files_.OpenForRead("/db/a", false, &reader));
  Fails(Code::kIoError, files_.Create("/db/b", false, &writer));
  Fails(Code::kIoError, files_.Map("/db/m", kPage, &mapping));
  Fails(Code::kIoError, files_.Rename("/db/a", "/db/b"));
  Fails(Code::kIoError, files_.Remove("/db/a"));
  Fails(Code::kIoError, files_.Truncate("/db/a", 1));
  Fails(Code::kIoError, files_.PunchHole("/db/a", 0, kPage));
  Fails(Code::kIoError, files_.CreateDirectory("/db/inner"));
  Fails(Code::kIoError, files_.SyncDirectory("/db"));
  Fails(Code::kIoError, files_.List("/db", &names));
  Fails(Code::kIoError, files_.Size("/db/a", &size));
  Fails(Code::kIoError, files_.Lock("/db", &lock));
  EXPECT_FALSE(files_.Exists("/db/a"));
  EXPECT_NE(files_.Size("/db/a", &size).message().find("power lost"), std::string::npos);
  files_.Restart();
  EXPECT_EQ(Read("/db/a"), "content");
}

TEST_F(Simulated, PowerGoesAfterSoManyModifyingCalls) {
  CreateDurable("/db/a", "content");
  const uint64_t before = files_.modifying_calls();
  files_.LosePowerAfter(3, Loss::kDropAll);
  auto file = Create("/db/b", "x");
  EXPECT_EQ(Read("/db/a"), "content") << "reading does not count";
  EXPECT_FALSE(files_.power_lost());
  Fails(Code::kIoError, file->Sync());
  EXPECT_TRUE(files_.power_lost());
  EXPECT_EQ(files_.modifying_calls(), before + 3);
  Fails(Code::kIoError, file->Sync());
  files_.Restart();
  Ok(files_.Remove("/db/a"));
  files_.LosePowerAfter(0, Loss::kDropAll);
  EXPECT_TRUE(files_.power_lost());
}

TEST_F(Simulated, DirectFilesAskForAlignment) {
  std::unique_ptr<WritableFile> writer;
  Ok(files_.Create("/db/a", true, &writer));
  AlignedBuffer buffer(2 * kPage);
  std::memset(buffer.data(), 'x', buffer.size());
  Fails(Code::kInvalidArgument, writer->Append({buffer.data(), kSector}));
  Fails(Code::kInvalidArgument, writer->Append({buffer.data() + kSector, kPage}));
  Ok(writer->Append({buffer.data(), 2 * kPage}));
  EXPECT_EQ(writer->size(), 2 * kPage);

  std::unique_ptr<RandomAccessFile> reader;
  Ok(files_.OpenForRead("/db/a", true, &reader));
  EXPECT_TRUE(reader->direct());
  size_t read = 0;
  EXPECT_EQ(reader->alignment(), kSector);
  Fails(Code::kInvalidArgument, reader->Read(kSector / 2, kPage, buffer.data(), &read));
  Fails(Code::kInvalidArgument, reader->Read(0, kSector / 2, buffer.data(), &read));
  Fails(Code::kInvalidArgument, reader->Read(0, kPage, buffer.data() + 1, &read));
  Ok(reader->Read(kSector, 2 * kSector, buffer.data() + kSector, &read));
  EXPECT_EQ(read, 2 * kSector);
  Ok(reader->Read(kPage, 2 * kPage, buffer.data(), &read));
  EXPECT_EQ(read, kPage);
  // The device's own cache loses them all the same.
  Ok(files_.SyncDirectory("/"));
  Ok(files_.SyncDirectory("/db"));
  Cycle(Loss::kDropAll);
  EXPECT_EQ(Read("/db/a"), "");
}

TEST_F(Simulated, MappingsShareTheFilesContent) {
  auto mapping = MapDurable("/db/m", 3 * kPage);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(mapping->data()) % kPage, 0u);
  std::memcpy(mapping->data() + kPage - 2, "across", 6);
  EXPECT_EQ(Read("/db/m").substr(kPage - 2, 6), "across");
  std::unique_ptr<MappedFile> again;
  Ok(files_.Map("/db/m", 3 * kPage, &again));
  EXPECT_EQ(again->data(), mapping->data());
  Fails(Code::kInvalidArgument, files_.Map("/db/m", kPage, &again));
  std::unique_ptr<WritableFile> writer;
  Fails(Code::kInvalidArgument, files_.Truncate("/db/m", kPage));
  Fails(Code::kInvalidArgument, files_.Create("/db/m", false, &writer));
  Ok(files_.PunchHole("/db/m", 0, kPage));
  EXPECT_EQ(std::string_view(mapping->data() + kPage - 2, 6), std::string_view("\0\0ross", 6));
  mapping.reset();
  again.reset();
  EXPECT_EQ(Read("/db/m").substr(kPage, 4), "ross");
  Ok(files_.Map("/db/m", 3 * kPage, &again));
  EXPECT_EQ(std::string_view(again->data() + kPage, 4), "ross");
  Fails(Code::kInvalidArgument, files_.Map("/db/empty", 0, &again));
}

TEST_F(Simulated, OnlySyncedPagesOfAMappingSurvive) {
  auto mapping = MapDurable("/db/m", 4 * kPage);
  char* data = mapping->data();
  data[0] = 'a';
  Ok(mapping->Sync());
  data[1] = 'b';
  data[kPage] = 'c';
  data[2 * kPage] = 'd';
  data[3 * kPage] = 'e';
  Ok(mapping->Sync(kPage + 1, kPage));
  Fails(Code::kInvalidArgument, mapping->Sync(kPage, 4 * kPage));
  Cycle(Loss::kDropAll);
  std::string expected(4 * kPage, '\0');
  expected[0] = 'a';
  expected[kPage] = 'c';
  expected[2 * kPage] = 'd';
  EXPECT_EQ(Read("/db/m"), expected);
}

TEST_F(Simulated, ClosingAMappingNeitherSyncsNorLosesItsContent) {
  auto mapping = MapDurable("/db/m", 2 * kPage);
  mapping->data()[0] = 'a';
  Ok(mapping->Sync());
  mapping->data()[0] = 'b';
  mapping.reset();
  EXPECT_EQ(Read("/db/m")[0], 'b');
  Cycle(Loss::kDropAll);
  EXPECT_EQ(Read("/db/m")[0], 'a');
}

TEST_F(Simulated, AMappingRestoresBytesThatWereCutOff) {
  const std::string content(2 * kPage, 'x');
  CreateDurable("/db/a", content);
  auto file = Create("/db/a");
  Ok(files_.Truncate("/db/a", content.size()));
  std::unique_ptr<MappedFile> mapping;
  Ok(files_.Map("/db/a", content.size(), &mapping));
  std::memcpy(mapping->data(), content.data(), content.size());
  Fails(Code::kInvalidArgument, file->Append("y"));
  mapping.reset();
  Ok(file->Sync());
  Cycle(Loss::kDropAll);
  EXPECT_EQ(Read("/db/a"), content);
}

TEST_F(Simulated, ANewMappedFileHasItsWholeSizeOrNoName) {
  std::unique_ptr<MappedFile> mapping;
  Ok(files_.SyncDirectory("/"));
  Ok(files_.Map("/db/m", 3 * kPage, &mapping));
  mapping->data()[0] = 'x';
  Ok(files_.SyncDirectory("/db"));
  Cycle(Loss::kDropAll);
  EXPECT_EQ(Read("/db/m"), std::string(3 * kPage, '\0'));
}

TEST_F(Simulated, StoresMayRunIntoASync) {
  auto mapping = MapDurable("/db/m", 16 * kPage);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (size_t at = 0; !stop.load(); at = (at + 64) % mapping->size()) ++mapping->data()[at];
  });
  std::unique_ptr<RandomAccessFile> reader;
  Ok(files_.OpenForRead("/db/m", false, &reader));
  std::string buffer(mapping->size(), '\0');
  size_t read = 0;
  for (int i = 0; i < 50; ++i) {
    Ok(mapping->Sync());
    Ok(reader->Read(0, buffer.size(), buffer.data(), &read));
  }
  files_.LosePower(Loss::kTorn);
  Fails(Code::kIoError, mapping->Sync());
  stop.store(true);
  writer.join();
}

TEST_F(Simulated, ThePowerMayGoWhileThreadsAreInside) {
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([this, number] {
      const std::string path = "/db/" + std::to_string(number);
      while (!files_.power_lost()) {
        std::unique_ptr<WritableFile> file;
        std::string content;
        if (!files_.Create(path, false, &file).ok() || !file->Append(path).ok() ||
            !file->Sync().ok() || !ReadWholeFile(&files_, path, &content).ok() ||
            !files_.Rename(path, path + ".to").ok()) {
          return;
        }
        EXPECT_EQ(content, path);
      }
    });
  }
  files_.LosePowerAfter(500, Loss::kRandom);
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(files_.power_lost());
}

TEST_F(Simulated, ALockIsHeldOnceAndGoesWithThePower) {
  std::unique_ptr<DirectoryLock> first, second;
  Ok(files_.Lock("/db", &first));
  Fails(Code::kBusy, files_.Lock("/db/", &second));
  EXPECT_TRUE(files_.Exists("/db/LOCK"));
  first.reset();
  Ok(files_.Lock("/db", &first));
  Cycle(Loss::kKeepAll);
  Ok(files_.Lock("/db", &second));
  first.reset();
  Fails(Code::kBusy, files_.Lock("/db", &first));
}

TEST_F(Simulated, AFullDiskRefusesWhatDoesNotFit) {
  const std::string page(kPage, 'x');
  auto file = Create("/db/a", page);
  files_.SetCapacity(4 * kPage);
  Ok(file->Append(page));
  std::unique_ptr<MappedFile> mapping;
  Fails(Code::kNoSpace, files_.Map("/db/m", 3 * kPage, &mapping));
  EXPECT_FALSE(files_.Exists("/db/m"));
  Fails(Code::kNoSpace, file->Append(page + page + page));
  EXPECT_EQ(Read("/db/a"), std::string(file->size(), 'x'));
  EXPECT_TRUE(file->size() == 2 * kPage || file->size() == 4 * kPage) << file->size();

  std::unique_ptr<RandomAccessFile> reader;
  Ok(files_.OpenForRead("/db/a", false, &reader));
  Ok(files_.Remove("/db/a"));
  file.reset();
  Fails(Code::kNoSpace, files_.Map("/db/m", 4 * kPage, &mapping));
  reader.reset();
  Ok(files_.Map("/db/m", 4 * kPage, &mapping));
  file = Create("/db/b");
  Fails(Code::kNoSpace, file->Append("x"));
  Ok(files_.PunchHole("/db/m", 0, kPage));
  Ok(file->Append("x"));
  Fails(Code::kNoSpace, files_.Map("/db/m", 4 * kPage, &mapping));
  files_.SetCapacity(UINT64_MAX);
  Ok(files_.Map("/db/m", 4 * kPage, &mapping));
}

TEST_F(Simulated, ReadOnlyMediaCanOnlyBeRead) {
  auto file = Create("/db/a", "content");
  auto mapping = MapDurable("/db/m", kPage);
  files_.SetReadOnly(true);
  std::unique_ptr<WritableFile> writer;
  std::unique_ptr<MappedFile> again;
  std::unique_ptr<DirectoryLock> lock;
  Fails(Code::kReadOnly, files_.Create("/db/b", false, &writer));
  Fails(Code::kReadOnly, files_.Map("/db/m", kPage, &again));
  Fails(Code::kReadOnly, file->Append("x"));
  Fails(Code::kReadOnly, file->Sync());
  Fails(Code::kReadOnly, mapping->Sync());
  Fails(Code::kReadOnly, files_.Rename("/db/a", "/db/b"));
  Fails(Code::kReadOnly, files_.Remove("/db/a"));
  Fails(Code::kReadOnly, files_.Truncate("/db/a", 0));
  Fails(Code::kReadOnly, files_.PunchHole("/db/a", 0, kPage));
  Fails(Code::kReadOnly, files_.CreateDirectory("/db/inner"));
  Fails(Code::kReadOnly, files_.SyncDirectory("/db"));
  Fails(Code::kReadOnly, files_.Lock("/db", &lock));
  EXPECT_EQ(Read("/db/a"), "content");
  files_.SetReadOnly(false);
  Ok(files_.Lock("/db", &lock));
  lock.reset();
  files_.SetReadOnly(true);
  Ok(files_.Lock("/db", &lock));
}

TEST_F(Simulated, AFlippedBitIsFlippedForGood) {
  CreateDurable("/db/a", "abc");
  auto grown = Create("/db/b", std::string(kPage, 'x'));
  Ok(grown->Sync());
  Ok(grown->Append("y"));
  auto mapping = MapDurable("/db/m", 2 * kPage);
  Ok(files_.Flip("/db/a", 8 + 1));
  Ok(files_.Flip("/db/b", 0));
  Ok(files_.Flip("/db/b", kPage * 8));
  Ok(files_.Flip("/db/m", kPage * 8));
  Fails(Code::kInvalidArgument, files_.Flip("/db/a", 24));
  EXPECT_EQ(Read("/db/a"), "a`c");
  EXPECT_EQ(mapping->data()[kPage], 1);
  EXPECT_EQ(Read("/db/b")[kPage], 'x');
  Cycle(Loss::kDropAll);
  EXPECT_EQ(Read("/db/a"), "a`c");
  EXPECT_EQ(Read("/db/b"), "y" + std::string(kPage - 1, 'x'));
  EXPECT_EQ(Read("/db/m")[kPage], 1);
  Ok(files_.Flip("/db/a", 8 + 1));
  EXPECT_EQ(Read("/db/a"), "abc");
}

}  // namespace
}  // namespace kvdyno::testing
