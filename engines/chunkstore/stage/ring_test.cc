#include "stage/ring.h"

#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "kvdyno/base/testing/fault_file_system.h"
#include "kvdyno/base/testing/simulated_file_system.h"
#include "stage/ring_fixture.h"

namespace chunkstore {
namespace {

using kvdyno::testing::Call;
using kvdyno::testing::FaultFileSystem;
using kvdyno::testing::Loss;
using kvdyno::testing::SimulatedFileSystem;

constexpr size_t kStageSize = 16384;

class RingTest : public ::testing::Test {
 protected:
  RingTest() : files_(1), faults_(&files_), store_(&faults_, "/ring", kStageSize) {
    EXPECT_TRUE(files_.CreateDirectory("/ring").ok());
    EXPECT_TRUE(files_.SyncDirectory("/").ok());
    EXPECT_TRUE(store_.Open().ok());
  }
  MiniStore::Operation Put(const std::string& key, size_t length) {
    return {key, std::string(length, 'v'), EntryType::kValue};
  }
  std::vector<std::string> SpillFiles() {
    std::vector<std::string> names;
    EXPECT_TRUE(files_.List("/ring", &names).ok());
    std::erase_if(names, [](const std::string& name) { return !name.starts_with("spill-"); });
    return names;
  }
  // What the stages have of a key.
  bool Has(const std::string& key, size_t length) {
    for (const auto& stage : store_.stages()) {
      Entry entry;
      if (stage->Lookup(key, kNewest, &entry)) return entry.value.size() == length;
    }
    return false;
  }

  SimulatedFileSystem files_;
  FaultFileSystem faults_;
  MiniStore store_;
};

TEST_F(RingTest, ManyCyclesThroughTheSameFiles) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 3000; ++i) {
    ASSERT_TRUE(store_.WriteRandom(&random, 500).ok());
    if (i % 500 != 499) continue;
    store_.Close();
    const Version before = store_.last();
    ASSERT_TRUE(store_.Open().ok());
    ASSERT_EQ(NumberOf(store_.last()), NumberOf(before));
    ASSERT_EQ(store_.recovery().dropped_bytes, 0u);
    ASSERT_GT(store_.recovery().records, 0u);
  }
  EXPECT_GT(store_.flushed_sequence(), 50u);
}

TEST(RingOnDisk, ForgetsWhatNoRecordComesToSoon) {
  constexpr size_t kLarge = 4 << 20;
  constexpr size_t kWindows = 256 << 10;  // mapped beyond records, and whole pages
  // Where the test runs, because nothing leaves the memory of a tmpfs.
  const std::string directory = "ring_test_" + std::to_string(::getpid());
  ASSERT_TRUE(std::filesystem::create_directory(directory));
  {
    MiniStore store(kvdyno::FileSystem::Posix(), directory, kLarge);
    ASSERT_TRUE(store.Open().ok());
    std::mt19937_64 random(13);
    const auto fill = [&] { ASSERT_TRUE(store.WriteRandom(&random, 500).ok()); };
    while (store.stages().size() < 3 || store.active()->bytes() < kLarge / 4) fill();
    ASSERT_TRUE(store.Sync().ok());
    store.FlushOldest();
    store.FlushOldest();
    const size_t kept = 3 * Stage::kAhead + store.active()->bytes();
    EXPECT_GT(store.ring()->resident(), 2 * kLarge);
    store.ring()->ForgetUnused();
    EXPECT_GE(store.ring()->resident(), kept - Stage::kAhead);
    struct statfs about;
    ASSERT_EQ(::statfs(directory.c_str(), &about), 0);
    if (about.f_type != TMPFS_MAGIC) {
      EXPECT_LE(store.ring()->resident(), kept + Stage::kAhead + kWindows);
      while (store.ring()->resident() < kept - Stage::kAhead / 2 - kWindows)
        std::this_thread::yield();  // what is read ahead is on its way
    }
  }
  std::filesystem::remove_all(directory);
}

// What no record has reached of a file is not resident.
TEST_F(RingTest, CountsWhatRecordsHaveReached) {
  constexpr size_t kLarge = 1 << 20;
  ASSERT_TRUE(files_.CreateDirectory("/large").ok());
  MiniStore store(&files_, "/large", kLarge);
  ASSERT_TRUE(store.Open().ok());
  std::mt19937_64 random(11);
  ASSERT_TRUE(store.WriteRandom(&random, 500).ok());
  EXPECT_LT(store.ring()->memory_in_use(), kLarge / 2);
  const size_t before = store.active()->touched_memory();
  while (store.active()->bytes() < kLarge / 2) {
    ASSERT_TRUE(store.WriteRandom(&random, 500).ok());
  }
  EXPECT_GE(store.active()->touched_memory() - before, kLarge / 2 - (64 << 10));
  EXPECT_LE(store.ring()->memory_in_use(), store.ring()->memory());
}

TEST_F(RingTest, BusyWhenAllStagesAreUnflushed) {
  std::vector<std::shared_ptr<Stage>> stages(Ring::kStages + 1);
  for (uint64_t i = 0; i < Ring::kStages; ++i) {
    EXPECT_TRUE(store_.ring()->HasFree());
    ASSERT_TRUE(store_.ring()->Acquire(i + 1, 1, &stages[i]).ok());
    EXPECT_TRUE(stages[i]->empty());
    EXPECT_EQ(stages[i]->last() + 1, stages[i]->first());
  }
  EXPECT_FALSE(store_.ring()->HasFree());
  EXPECT_EQ(store_.ring()->Acquire(9, 1, &stages[3]).code(), Code::kBusy);
  EXPECT_GE(store_.ring()->memory(), Ring::kStages * kStageSize);
  store_.ring()->Release(stages[1]);
  EXPECT_TRUE(store_.ring()->Acquire(9, 1, &stages[3]).ok());
}

TEST_F(RingTest, EmptyStagesDoNotComeBack) {
  std::shared_ptr<Stage> stage;
  ASSERT_TRUE(store_.ring()->Acquire(1, store_.last() + 1, &stage).ok());
  stage.reset();
  store_.Close();
  ASSERT_TRUE(store_.Open().ok());
  EXPECT_TRUE(store_.stages().empty());
  EXPECT_EQ(store_.recovery().last, 0u);
  EXPECT_EQ(store_.recovery().sequence, 1u);
}

// Pages are mapped before they are read: one that the medium does not give is no signal.
TEST_F(RingTest, AStageWhosePagesCannotBeMappedIsAnError) {
  ASSERT_TRUE(store_.Write({Put("key", 10)}).ok());
  store_.Close();
  faults_.SetPlan([](const kvdyno::testing::Call& call) {
    return call.name == "populate mapping" ? Status::IoError("bad medium") : Status::Ok();
  });
  EXPECT_EQ(store_.Open().message(), "bad medium");
  faults_.SetPlan(nullptr);
  ASSERT_TRUE(store_.Open().ok());
  EXPECT_TRUE(Has("key", 10));
}

TEST_F(RingTest, SpilledPayloads) {
  ASSERT_TRUE(store_.Write({Put("small", 10)}).ok());
  ASSERT_TRUE(store_.Write({Put("large", 3 * kStageSize), Put("also", 5)}).ok());
  ASSERT_TRUE(store_.Sync().ok());
  EXPECT_EQ(SpillFiles().size(), 1u);
  EXPECT_GT(store_.active()->memory(), 4 * kStageSize);
  store_.Close();
  ASSERT_TRUE(files_.Rename("/ring/" + SpillFiles()[0], "/ring/spill-00000000000000ff").ok());
  EXPECT_EQ(store_.Open().code(), Code::kCorruption);
  ASSERT_TRUE(
      files_.Rename("/ring/spill-00000000000000ff", "/ring/" + SpillName(1ull << 48 | 2)).ok());
  ASSERT_TRUE(store_.Open().ok());
  EXPECT_TRUE(Has("large", 3 * kStageSize) && Has("also", 5) && Has("small", 10));
  store_.FlushOldest();  // what is larger than a stage has one of its own
  EXPECT_EQ(SpillFiles().size(), 1u);
  store_.FlushOldest();
  EXPECT_TRUE(SpillFiles().empty());
}

TEST_F(RingTest, OrphanedSpillFilesGoUnlessReadOnly) {
  std::unique_ptr<kvdyno::WritableFile> file;
  ASSERT_TRUE(files_.Create("/ring/" + SpillName(5), false, &file).ok());
  store_.Close();
  store_.options().read_only = true;
  ASSERT_TRUE(store_.Open().ok());
  EXPECT_EQ(SpillFiles().size(), 1u);
  store_.options().read_only = false;
  ASSERT_TRUE(store_.Open().ok());
  EXPECT_TRUE(SpillFiles().empty());
}

TEST_F(RingTest, FailedSpillLeavesTheStageAsItWas) {
  ASSERT_TRUE(store_.Write({Put("a", 10)}).ok());
  const size_t bytes = store_.active()->bytes();
  for (const std::string failing : {"create", "append", "sync", "sync directory"}) {
    faults_.SetPlan([&](const Call& call) {
      return call.name == failing ? Status::NoSpace("disk full") : Status::Ok();
    });
    EXPECT_EQ(store_.Write({Put("b", kStageSize / 2)}).code(), Code::kNoSpace) << failing;
    EXPECT_EQ(store_.active()->bytes(), bytes);
    EXPECT_TRUE(SpillFiles().empty());
  }
  faults_.SetPlan(nullptr);
  EXPECT_TRUE(store_.Write({Put("b", kStageSize / 2)}).ok());
}

TEST_F(RingTest, FailedSyncIsFinal) {
  ASSERT_TRUE(store_.Write({Put("a", 10)}).ok());
  ASSERT_TRUE(store_.Sync().ok());
  EXPECT_EQ(store_.active()->durable(), store_.last());
  ASSERT_TRUE(store_.Write({Put("b", 10)}).ok());
  faults_.SetPlan([](const Call& call) {
    return call.name == "sync mapping" ? Status::IoError("bad sector") : Status::Ok();
  });
  EXPECT_EQ(store_.Sync().code(), Code::kIoError);
  faults_.SetPlan(nullptr);
  EXPECT_EQ(store_.Sync().code(), Code::kIoError);
  EXPECT_EQ(store_.active()->durable(), store_.last() - 1);
}

TEST_F(RingTest, FailedAcquireLeavesTheSlotFree) {
  for (const bool map : {true, false}) {
    store_.Close();
    ASSERT_TRUE(store_.Open().ok());
    faults_.SetPlan([&](const Call& call) {
      return call.name == (map ? "map" : "sync mapping") ? Status::IoError("no") : Status::Ok();
    });
    std::shared_ptr<Stage> stage;
    if (map) {
      store_.Close();
      EXPECT_EQ(store_.Open().code(), Code::kIoError);
    } else {
      EXPECT_EQ(store_.ring()->Acquire(1, 1, &stage).code(), Code::kIoError);
      EXPECT_TRUE(store_.ring()->HasFree());
    }
    faults_.SetPlan(nullptr);
    ASSERT_TRUE(store_.Open().ok());
    EXPECT_TRUE(store_.ring()->Acquire(1, 1, &stage).ok());
    EXPECT_EQ(stage->sequence(), 1u);
    store_.ring()->Release(stage);
  }
}

TEST_F(RingTest, ReadOnlyWritesNothing) {
  ASSERT_TRUE(store_.Write({Put("a", 10)}).ok());
  store_.Close();
  files_.SetReadOnly(true);
  store_.options().read_only = true;
  ASSERT_TRUE(store_.Open().ok());
  EXPECT_TRUE(Has("a", 10));
  EXPECT_TRUE(store_.Sync().ok());
  EXPECT_EQ(store_.Write({Put("b", 10)}).code(), Code::kReadOnly);
}

TEST_F(RingTest, InMemoryRecoversFilesButWritesNone) {
  ASSERT_TRUE(store_.Write({Put("a", 10)}).ok());
  store_.Close();
  store_.options().in_memory = true;
  ASSERT_TRUE(store_.Open().ok());
  EXPECT_TRUE(Has("a", 10));
  EXPECT_TRUE(store_.Sync().ok());
  const uint64_t calls = files_.modifying_calls();
  std::mt19937_64 random(7);
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(store_.WriteRandom(&random, 6000).ok());
  EXPECT_TRUE(store_.active()->Sync().ok());
  EXPECT_EQ(files_.modifying_calls(), calls);
  EXPECT_FALSE(Has("a", 10));  // flushed
}

TEST_F(RingTest, FilesOfAnotherSizeAreReadThenReplaced) {
  ASSERT_TRUE(store_.Write({Put("a", 10)}).ok());
  store_.Close();
  store_.options().stage_size = 3 * kStageSize;
  ASSERT_TRUE(store_.Open().ok());
  ASSERT_EQ(store_.stages().size(), 1u);
  EXPECT_EQ(store_.stages()[0]->capacity(), kStageSize - kRecordsAt);
  EXPECT_TRUE(Has("a", 10));
  EXPECT_TRUE(store_.Sync().ok());
  store_.FlushOldest();
  std::shared_ptr<Stage> stage;
  for (uint64_t i = 0; i < Ring::kStages; ++i) {
    ASSERT_TRUE(store_.ring()->Acquire(10 + i, 1, &stage).ok());
    EXPECT_EQ(stage->capacity(), 3 * kStageSize - kRecordsAt);
  }
}

TEST_F(RingTest, MissingOlderStageHidesTheLaterOnes) {
  std::mt19937_64 random(3);
  while (store_.stages().size() < 3) ASSERT_TRUE(store_.WriteRandom(&random, 500).ok());
  const Version first_last = store_.stages()[0]->last();
  store_.Close();
  ASSERT_TRUE(files_.Remove("/ring/ring-1").ok());
  RingRecovery recovery;
  std::unique_ptr<Ring> ring;
  ASSERT_TRUE(Ring::Open(store_.options(), 0, store_.epochs(), false, &recovery, &ring).ok());
  EXPECT_EQ(recovery.stages.size(), 1u);
  EXPECT_EQ(recovery.last, first_last);
  EXPECT_GT(recovery.dropped_bytes, 0u);
}

}  // namespace
}  // namespace chunkstore
