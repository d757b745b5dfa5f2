// Who may open what, what read-only media allow, and what stays small whatever the store's size.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "kvdyno/base/coding.h"
#include "kvdyno/base/crc32c.h"
#include "kvdyno/base/testing/process.h"
#include "kvdyno/base/testing/simulated_file_system.h"
#include "testing/history.h"
#include "testing/scale.h"

namespace chunkstore::testing {
namespace {

using kvdyno::Code;
using kvdyno::testing::AnonymousBytes;
using kvdyno::testing::Loss;
using kvdyno::testing::SimulatedFileSystem;

TEST(Opening, ASecondProcessIsRefused) {
  const ScratchDirectory scratch(".");
  const std::string directory = scratch.path() + "/store";
  Options options;
  options.memory_budget = Options::kLeastBudget;
  int ready[2], done[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(done), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::unique_ptr<Store> store;
    const char ok = Store::Open(options, directory, &store).ok() ? 'y' : 'n';
    char byte = 0;
    if (::write(ready[1], &ok, 1) != 1 || ::read(done[0], &byte, 1) != 1) std::_Exit(2);
    store.reset();
    std::_Exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  std::unique_ptr<Store> store;
  const Status refused = Store::Open(options, directory, &store);
  EXPECT_EQ(refused.code(), Code::kBusy) << refused.ToString();
  EXPECT_NE(refused.message().find(std::to_string(child)), std::string::npos)
      << "expected the holder's process: " << refused.ToString();
  ASSERT_EQ(::write(done[1], "x", 1), 1);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(Store::Open(options, directory, &store).ok());
  for (const int file : {ready[0], ready[1], done[0], done[1]}) ::close(file);
}

TEST(Opening, ASecondStoreOfThisProcessIsRefused) {
  SimulatedFileSystem files(1);
  Options options;
  options.memory_budget = Options::kLeastBudget;
  options.file_system = &files;
  std::unique_ptr<Store> store, second;
  ASSERT_TRUE(Store::Open(options, "/store", &store).ok());
  EXPECT_EQ(Store::Open(options, "/store", &second).code(), Code::kBusy);
}

// A directory with every kind of file, as a kill leaves it.
void BuildStore(SimulatedFileSystem* files, Options* options, std::string* manifest) {
  options->memory_budget = Options::kLeastBudget;
  options->stage_size = 64 << 10;
  options->chunk_size = 16 << 10;
  options->file_system = files;
  std::unique_ptr<Store> store;
  ASSERT_TRUE(Store::Open(*options, "/store", &store).ok());
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(store->Put("key" + std::to_string(i), std::string(200, 'v')).ok());
  }
  ASSERT_TRUE(store->Checkpoint().ok());
  files->LosePower(Loss::kKeepAll);
  store.reset();
  files->Restart();
  std::vector<std::string> names;
  ASSERT_TRUE(files->List("/store", &names).ok());
  for (const std::string& name : names) {
    if (name.starts_with("manifest-")) *manifest = std::max(*manifest, "/store/" + name);
  }
}

TEST(Opening, AnotherFormatVersionIsRefusedAndNamed) {
  SimulatedFileSystem files(2);
  Options options;
  std::string manifest, content;
  ASSERT_NO_FATAL_FAILURE(BuildStore(&files, &options, &manifest));
  ASSERT_TRUE(kvdyno::ReadWholeFile(&files, manifest, &content).ok());
  // u64 magic, u32 format version, u32 checksum of these.
  kvdyno::StoreFixed<uint32_t>(content.data() + 8, 4711);
  kvdyno::StoreFixed<uint32_t>(content.data() + 12,
                               kvdyno::Crc32c(std::string_view(content).substr(0, 12)));
  std::unique_ptr<kvdyno::WritableFile> file;
  ASSERT_TRUE(files.Create(manifest, false, &file).ok());
  ASSERT_TRUE(file->Append(content).ok());
  ASSERT_TRUE(file->Sync().ok());
  std::unique_ptr<Store> store;
  const Status refused = Store::Open(options, "/store", &store);
  EXPECT_EQ(refused.code(), Code::kUnsupported) << refused.ToString();
  EXPECT_NE(refused.message().find("4711"), std::string::npos) << refused.ToString();
}

TEST(ReadOnly, MediaThatCannotBeWrittenServeReads) {
  SimulatedFileSystem files(3);
  Options options;
  std::string manifest;
  ASSERT_NO_FATAL_FAILURE(BuildStore(&files, &options, &manifest));
  files.SetReadOnly(true);
  std::unique_ptr<Store> store;
  options.read_only = true;
  Status status = Store::Open(options, "/store", &store);
  ASSERT_TRUE(status.ok()) << status.ToString();
  std::string value;
  for (int i = 0; i < 1000; ++i) {
    status = store->Get("key" + std::to_string(i), &value);
    ASSERT_TRUE(status.ok()) << i << ": " << status.ToString();
  }
  size_t rows = 0;
  EXPECT_TRUE(store->Scan({}, [&](auto, auto) { return ++rows > 0; }).ok());
  EXPECT_EQ(rows, 1000u);
  CheckReport report;
  EXPECT_TRUE(store->VerifyChecksums(&report).ok());
  EXPECT_TRUE(report.problems.empty());
  EXPECT_EQ(store->Put("a", "b").code(), Code::kReadOnly);
  EXPECT_EQ(store->Delete("a").code(), Code::kReadOnly);
  WriteBatch batch;
  batch.Put("a", "b");
  EXPECT_EQ(store->Write(batch).code(), Code::kReadOnly);
  EXPECT_EQ(store->Compact().code(), Code::kReadOnly);
  EXPECT_TRUE(store->Close().ok());
}

TEST(ReadOnly, OpeningChangesNoFile) {
  SimulatedFileSystem files(4);
  Options options;
  std::string manifest;
  ASSERT_NO_FATAL_FAILURE(BuildStore(&files, &options, &manifest));
  const uint64_t calls = files.modifying_calls();
  options.read_only = true;
  std::unique_ptr<Store> store;
  ASSERT_TRUE(Store::Open(options, "/store", &store).ok());
  ASSERT_TRUE(store->Close().ok());
  EXPECT_EQ(files.modifying_calls(), calls);
}

// A store of this many chunks also bounds file descriptors; its time is printed, not judged.
TEST(Size, ManyChunksOpenWithFewCalls) {
  CheckOptions options = Checks(100'000);
  options.directory = ".";
  ExpectClean(CheckManyChunks(options));
}

TEST(Size, MemoryStaysInsideTheBudget) {
#if CHUNKSTORE_TEST_DIVISOR > 1
  GTEST_SKIP() << "sanitizers have memory of their own";
#endif
  CheckOptions options;
  options.count = 64 << 20;
  options.directory = ".";
  ExpectClean(CheckMemory(options));
  // An index takes as much for a small row as for a large one.
  options.value_bytes = 64;
  ExpectClean(CheckMemory(options));
  options.value_bytes = CheckOptions().value_bytes;
  options.small_runs = true;
  ExpectClean(CheckMemory(options));
}

// The store's background work looks once a second; the test's own holes serve as well as those
// between indexes.
TEST(Size, FreedPagesOfTheHeapGoBack) {
#if CHUNKSTORE_TEST_DIVISOR > 1
  GTEST_SKIP() << "sanitizers have a heap of their own";
#endif
  const ScratchDirectory scratch(".");
  Options options;
  options.memory_budget = Options::kLeastBudget;
  options.trim_heap = true;
  std::unique_ptr<Store> store;
  ASSERT_TRUE(Store::Open(options, scratch.path() + "/store", &store).ok());
  constexpr size_t kPieces = 64 << 10, kPieceBytes = 1000, kStays = 32;
  std::vector<std::unique_ptr<char[]>> pieces(kPieces);
  for (auto& piece : pieces) piece.reset(new char[kPieceBytes]());
  const uint64_t full = AnonymousBytes();
  for (size_t i = 0; i < kPieces; ++i) {
    if (i % kStays != 0) pieces[i].reset();
  }
  while (AnonymousBytes() > full - kPieces * kPieceBytes / 2) ::usleep(10'000);
}

// Once a large buffer was freed, the C library would take the next ones from the heap, where what
// stays between them keeps them.
TEST(Size, LargeBuffersGoBackAsSoonAsTheyAreFree) {
#if CHUNKSTORE_TEST_DIVISOR > 1
  GTEST_SKIP() << "sanitizers have a heap of their own";
#endif
  constexpr size_t kBuffers = 64, kBufferBytes = 1 << 20;
  delete[] new char[8 * kBufferBytes]();
  const ScratchDirectory scratch(".");
  Options options;
  options.memory_budget = Options::kLeastBudget;
  options.trim_heap = true;
  options.background_threads = 0;  // nothing is trimmed meanwhile
  std::unique_ptr<Store> store;
  ASSERT_TRUE(Store::Open(options, scratch.path() + "/store", &store).ok());
  std::vector<std::unique_ptr<char[]>> buffers(kBuffers), between(kBuffers);
  for (size_t i = 0; i < kBuffers; ++i) {
    buffers[i].reset(new char[kBufferBytes]());
    between[i].reset(new char[1000]());
  }
  const uint64_t full = AnonymousBytes();
  buffers.clear();
  EXPECT_LT(AnonymousBytes(), full - kBuffers * kBufferBytes / 2);
}

std::string RowKey(uint64_t row) { return "key" + std::to_string(100'000 + row); }

// Rows of a thousand bytes, each in a table.
void LoadRows(Store* store, uint64_t rows) {
  for (uint64_t row = 0; row < rows; ++row) {
    ASSERT_TRUE(store->Put(RowKey(row), std::string(1000, 'v')).ok());
  }
  ASSERT_TRUE(store->Compact().ok());
}

// Bytes of a cache, or of all "memory", as the store counts them.
uint64_t Held(const Store& store, const std::string& what) {
  for (const Statistic& statistic : store.GetStatistics()) {
    if (statistic.name == what + "_bytes") return static_cast<uint64_t>(statistic.value);
  }
  return 0;
}

// The process of a test takes less than a store reserves for processes.
TEST(Size, AnIdleStoreFillsItsBudget) {
#if CHUNKSTORE_TEST_DIVISOR > 1
  GTEST_SKIP() << "sanitizers have memory of their own";
#endif
  const ScratchDirectory scratch(".");
  Options options;
  options.memory_budget = 64 << 20;
  options.trim_heap = true;
  std::unique_ptr<Store> store;
  ASSERT_TRUE(Store::Open(options, scratch.path() + "/store", &store).ok());
  constexpr uint64_t kRows = 100'000;
  LoadRows(store.get(), kRows);
  Rng rng(1);
  std::string value;
  while (Held(*store, "memory") < options.memory_budget - (12 << 20)) {
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(store->Get(RowKey(rng.Below(kRows)), &value).ok());
  }
  EXPECT_LE(AnonymousBytes(), options.memory_budget);
  ASSERT_TRUE(store->Put(RowKey(0), "1").ok());
  while (Held(*store, "memory") > options.memory_budget - (14 << 20))
    ::usleep(1000);  // before any stage is full
}

// Data of the budget's size, scanned: munks come first, and blocks take their place.
TEST(Size, CachesGiveBackBeforeOthersGrow) {
  const ScratchDirectory scratch(".");
  Options options;
  options.memory_budget = 64 << 20;
  options.background_threads = 0;  // a flush is a round; reads in between fill what it allows
  std::unique_ptr<Store> store;
  ASSERT_TRUE(Store::Open(options, scratch.path() + "/store", &store).ok());
  constexpr uint64_t kRows = 64'000;
  LoadRows(store.get(), kRows);
  Rng rng(1);
  uint64_t sum = 0, most = 0, most_munks = 0;
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 500; ++i) {
      const std::string from = RowKey(rng.Below(kRows));
      ScanOptions scan;
      scan.start = from;
      scan.limit = 50;
      ASSERT_TRUE(store->Scan(scan, [](auto, auto) { return true; }).ok());
    }
    sum = Held(*store, "munk") + Held(*store, "row_cache") + Held(*store, "block_cache");
    most = std::max(most, sum);
    most_munks = std::max(most_munks, Held(*store, "munk"));
    ASSERT_TRUE(store->Flush().ok());
  }
  EXPECT_LT(Held(*store, "munk"), 0.6 * static_cast<double>(most_munks)) << "they shift";
  EXPECT_LT(most, 1.06 * static_cast<double>(sum));
}

}  // namespace
}  // namespace chunkstore::testing
