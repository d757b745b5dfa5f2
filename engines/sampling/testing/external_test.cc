// External mode beside the disk: damage, faults, a full disk, left-overs, the cap.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "kvdyno/base/testing/fault_file_system.h"
#include "model.h"

namespace sampling::guarantees {
namespace {

using kvdyno::Code;
using kvdyno::FileSystem;
using kvdyno::testing::FaultFileSystem;
using kvdyno::testing::SimulatedFileSystem;

constexpr auto kDirectory = "/scratch";

// Large enough for shards of many pages.
Options OnDisk(const Kind& kind, Layout layout, Deletes deletes, FileSystem* files) {
  Options options = SmallOptions(kind, layout, deletes);
  options.buffer_records = 256;
  options.directory = kDirectory;
  options.memory_levels = 0;
  options.files = files;
  return options;
}

std::vector<Options> AllOnDisk(FileSystem* files) {
  std::vector<Options> all;
  for (const Kind* kind : {&kWeightedSet, &kUniformRange, &kWeightedRange}) {
    for (const Layout layout : {Layout::kLeveling, Layout::kTiering}) {
      for (const Deletes deletes : {Deletes::kTagging, Deletes::kTombstones})
        all.push_back(OnDisk(*kind, layout, deletes, files));
    }
  }
  return all;
}

std::vector<std::string> ShardFiles(FileSystem* files) {
  std::vector<std::string> names, paths;
  EXPECT_TRUE(files->List(kDirectory, &names).ok());
  for (const std::string& name : names) {
    if (name.ends_with(".pages")) paths.push_back(std::string(kDirectory) + "/" + name);
  }
  return paths;
}

uint64_t BytesOn(FileSystem* files) {
  uint64_t bytes = 0;
  for (const std::string& path : ShardFiles(files)) {
    uint64_t size = 0;
    EXPECT_TRUE(files->Size(path, &size).ok());
    bytes += size;
  }
  return bytes;
}

// Ok, or what external mode may report of a damaged disk; samples, if any, are live.
void ExpectNoWrongSample(Model* model, const Query& query) {
  std::vector<Record> samples;
  const Status status = model->index().Sample(query, 300, &model->random(), &samples);
  if (!status.ok()) {
    EXPECT_TRUE(samples.empty());
    ASSERT_TRUE(status.code() == Code::kCorruption || status.not_found()) << status.ToString();
    if (status.code() == Code::kCorruption) {
      EXPECT_NE(status.file().find(".pages"), std::string::npos) << status.ToString();
    }
  }
  for (const Record& sample : samples) {
    const auto at = model->live().find({sample.key, sample.value});
    ASSERT_TRUE(at != model->live().end() && at->second == sample.weight);
  }
}

TEST(ExternalDamage, AFlippedBitIsReportedAndNeverDrawn) {
  SimulatedFileSystem disk(1);
  for (const Options& options : AllOnDisk(&disk)) {
    SCOPED_TRACE(NameOf(options));
    Model model(options, 1);
    ASSERT_TRUE(model.Play(Weights::kUnit, Fill::kHalf, 2000).ok());
    for (int i = 0; i < 25; ++i) {
      const std::vector<std::string> paths = ShardFiles(&disk);
      ASSERT_FALSE(paths.empty());
      const std::string& path = paths[model.rng().Below(paths.size())];
      uint64_t size = 0;
      ASSERT_TRUE(disk.Size(path, &size).ok());
      const uint64_t bit = model.rng().Below((size - kvdyno::kDirectAlignment) * 8);
      ASSERT_TRUE(disk.Flip(path, bit).ok());
      ExpectNoWrongSample(&model, {});
      ExpectNoWrongSample(&model, {UINT64_MAX / 3, UINT64_MAX / 2, {}});
      std::vector<Record> records;
      const Status live = model.index().Live({}, &records);  // reads every page
      EXPECT_EQ(live.code(), Code::kCorruption) << live.ToString();
      EXPECT_EQ(live.file(), path);
      EXPECT_EQ(live.offset(), bit / 8 / kvdyno::kDirectAlignment * kvdyno::kDirectAlignment);
      EXPECT_EQ(model.index().Verify().code(), Code::kCorruption);
      ASSERT_TRUE(disk.Flip(path, bit).ok());
    }
    EXPECT_EQ(model.Difference(), "");
  }
}

TEST(ExternalDamage, ATornFileIsReported) {
  SimulatedFileSystem disk(2);
  for (const Options& options : AllOnDisk(&disk)) {
    SCOPED_TRACE(NameOf(options));
    Model model(options, 2);
    ASSERT_TRUE(model.Play(Weights::kPareto, Fill::kHalf, 2000).ok());
    for (const std::string& path : ShardFiles(&disk)) {
      uint64_t size = 0;
      ASSERT_TRUE(disk.Size(path, &size).ok());
      ASSERT_TRUE(disk.Truncate(path, size / 2 + 100).ok());
    }
    std::vector<Record> records;
    EXPECT_EQ(model.index().Live({}, &records).code(), Code::kCorruption);
    EXPECT_TRUE(records.empty());
    for (int i = 0; i < 20; ++i) ExpectNoWrongSample(&model, {});
  }
}

// A page that is whole, but another one's.
TEST(ExternalDamage, APageInAnothersPlaceIsReported) {
  const std::string directory =
      ::testing::TempDir() + "sampling_external_" + std::to_string(getpid());
  Options options = OnDisk(kWeightedSet, Layout::kLeveling, Deletes::kTagging, FileSystem::Posix());
  options.directory = directory;
  {
    Model model(options, 3);
    ASSERT_TRUE(model.Play(Weights::kUnit, Fill::kHalf, 3000).ok());
    EXPECT_EQ(model.Difference(), "");
    EXPECT_LT(model.Deviation({}, 60000), kFits);
    for (const auto& file : std::filesystem::directory_iterator(directory)) {
      if (file.path().extension() != ".pages") continue;
      std::FILE* pages = std::fopen(file.path().c_str(), "r+b");
      std::vector<char> page(kvdyno::kDirectAlignment);
      ASSERT_EQ(std::fread(page.data(), 1, page.size(), pages), page.size());
      ASSERT_EQ(std::fwrite(page.data(), 1, page.size(), pages), page.size());  // the second one
      std::fclose(pages);
    }
    std::vector<Record> records;
    const Status status = model.index().Live({}, &records);
    EXPECT_EQ(status.code(), Code::kCorruption);
    EXPECT_NE(status.message().find("page's number"), std::string::npos) << status.ToString();
  }
  for (const auto& file : std::filesystem::directory_iterator(directory))
    EXPECT_EQ(file.path().filename(), "LOCK");
  std::filesystem::remove_all(directory);
}

// Inserts until an insert fails; returns why.
Status Fill(Model* model, uint64_t most) {
  Status status;
  for (uint64_t i = 0; status.ok() && i < most; ++i)
    status = model->Insert({model->rng().Next(), i, 1 + static_cast<double>(i % 7)});
  return status;
}

TEST(ExternalDisk, AFullDiskIsReportedAndOvercome) {
  for (const bool background : {false, true}) {
    for (Options options : AllOnDisk(nullptr)) {
      SCOPED_TRACE(NameOf(options) + (background ? " background" : ""));
      SimulatedFileSystem disk(3);
      options.files = &disk;
      options.background = background;
      Model model(options, 4);
      ASSERT_TRUE(Fill(&model, 2000).ok());
      model.index().Settle();
      disk.SetCapacity(BytesOn(&disk) + 20000);
      for (int attempt = 0; attempt < 3; ++attempt) {
        const Status status = Fill(&model, 100000);
        ASSERT_EQ(status.code(), Code::kNoSpace) << status.ToString();
        model.index().Settle();
        ASSERT_EQ(model.Difference(), "");
      }
      EXPECT_LT(model.Deviation({}, 20000), kFits);
      if (options.deletes == Deletes::kTagging) {
        EXPECT_TRUE(model.Delete(model.AnyLive()).ok());
      }
      disk.SetCapacity(UINT64_MAX);
      // In the background, the first call may still report what was tried before.
      if (!Fill(&model, 3000).ok()) {
        ASSERT_TRUE(background);
        ASSERT_TRUE(Fill(&model, 3000).ok());
      }
      model.index().Settle();
      EXPECT_EQ(model.Difference(), "");
      EXPECT_LT(model.Deviation({}, 20000), kFits);
    }
  }
}

// A history in which the call of that number fails, and those after it if `all`. Errors change nothing.
void PlayWithFault(Options options, uint64_t fault, bool all) {
  SimulatedFileSystem disk(5);
  FaultFileSystem faults(&disk);
  faults.WritePartially(true);
  options.files = &faults;
  std::map<Pair, double> live;
  {
    std::unique_ptr<Index> index;
    ASSERT_TRUE(Index::Open(options, &index).ok());
    const uint64_t number = faults.calls() + fault;
    const Status broken = Status::IoError("test: a fault");
    all ? faults.FailFrom(number, broken) : faults.FailCall(number, broken);
    kvdyno::testing::Rng rng(6);
    Random random(7);
    std::vector<Record> samples;
    for (uint64_t i = 0; i < 1200; ++i) {
      const Pair pair{rng.Below(400), rng.Below(2)};
      if (live.count(pair) == 0) {
        if (index->Insert({pair.first, pair.second, 1}).ok()) live[pair] = 1;
      } else if (rng.OneIn(3)) {
        const Status status = index->Delete(pair.first, pair.second);
        ASSERT_FALSE(status.not_found());
        if (status.ok()) live.erase(pair);
      }
      if (i % 100 != 0 || !index->Sample({}, 20, &random, &samples).ok()) continue;
      for (const Record& sample : samples) ASSERT_EQ(live.count({sample.key, sample.value}), 1u);
    }
    faults.SetPlan(nullptr);
    std::vector<Record> records;
    ASSERT_TRUE(index->Live({}, &records).ok());
    ASSERT_EQ(records.size(), live.size());
    ASSERT_EQ(index->statistics().records, live.size());
    for (const Record& record : records) ASSERT_EQ(live.count({record.key, record.value}), 1u);
    // A file whose removal failed is still there.
    ASSERT_LE(ShardFiles(&disk).size(), index->statistics().shards + (all ? SIZE_MAX / 2 : 1));
  }
  std::unique_ptr<Index> next;
  ASSERT_TRUE(Index::Open(options, &next).ok());
  EXPECT_TRUE(ShardFiles(&disk).empty());
}

TEST(ExternalDisk, AFaultAnywhereChangesNothing) {
  for (Options options : AllOnDisk(nullptr)) {
    options.buffer_records = 32;
    for (uint64_t fault = 0; fault < 120; fault += 7) {
      for (const bool all : {false, true}) {
        SCOPED_TRACE(NameOf(options) + " call " + std::to_string(fault) + (all ? " on" : ""));
        PlayWithFault(options, fault, all);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(ExternalDirectory, BelongsToOneIndexAndIsEmptiedByTheNext) {
  SimulatedFileSystem disk(8);
  const Options options = OnDisk(kWeightedSet, Layout::kTiering, Deletes::kTagging, &disk);
  ASSERT_TRUE(disk.CreateDirectory(kDirectory).ok());
  for (const char* name : {"sampling-7.pages", "sampling-x.pages", "notes.pages"}) {
    std::unique_ptr<kvdyno::WritableFile> file;
    ASSERT_TRUE(disk.Create(std::string(kDirectory) + "/" + name, false, &file).ok());
  }
  std::unique_ptr<Index> index, second;
  ASSERT_TRUE(Index::Open(options, &index).ok());
  std::vector<std::string> left =
      ShardFiles(&disk);  // the process's that died; not what others put there
  std::sort(left.begin(), left.end());
  EXPECT_EQ(left, (std::vector<std::string>{"/scratch/notes.pages", "/scratch/sampling-x.pages"}));
  EXPECT_EQ(Index::Open(options, &second).code(), Code::kBusy);
  index.reset();
  EXPECT_TRUE(Index::Open(options, &second).ok());
}

TEST(ExternalDirectory, OptionsThatCannotBeAreRefusedByName) {
  SimulatedFileSystem disk(9);
  const auto refused = [&](auto change, const std::string& name, Code code) {
    Options options = OnDisk(kWeightedSet, Layout::kTiering, Deletes::kTagging, &disk);
    change(&options);
    std::unique_ptr<Index> index;
    const Status status = Index::Open(options, &index);
    EXPECT_EQ(status.code(), code);
    EXPECT_NE(status.message().find(name), std::string::npos) << status.ToString();
  };
  refused([](Options* o) { o->memory_bytes = 100000; }, "memory_bytes", Code::kInvalidArgument);
  refused([](Options* o) { o->memory_levels = 20; }, "memory_bytes", Code::kInvalidArgument);
  refused([](Options* o) { o->memory_levels = 21; }, "memory_levels", Code::kInvalidArgument);
  refused([](Options* o) { o->directory = "/none/there"; }, "/none/there", Code::kNotFound);
}

TEST(ExternalCap, AnIndexThatOutgrowsItsMemoryReportsItAndStaysUsable) {
  SimulatedFileSystem disk(10);
  Options options = OnDisk(kWeightedSet, Layout::kTiering, Deletes::kTombstones, &disk);
  options.memory_bytes = 1'200'000;
  options.max_deleted = 0.9;
  Model model(options, 10);
  Status status;
  // Tombstones stay in memory; their records are in older shards.
  for (uint64_t i = 0; status.ok() && i < 200000; ++i) status = model.Insert({i, 0, 1});
  for (uint64_t i = 0; status.ok() && i < 150000; ++i) status = model.Delete({i, 0});
  EXPECT_EQ(status.code(), Code::kNoSpace);
  EXPECT_NE(status.message().find("memory_bytes"), std::string::npos) << status.ToString();
  std::vector<Record> samples;
  EXPECT_TRUE(model.index().Sample({}, 100, &model.random(), &samples).ok());
}

}  // namespace
}  // namespace sampling::guarantees
