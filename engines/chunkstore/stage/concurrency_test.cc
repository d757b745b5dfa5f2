// Appends under a lock, with indexing, lookups and checkpoints beside them, on the machine's own
// files (the thread sanitizer sees no others).
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "stage/ring_fixture.h"

namespace chunkstore {
namespace {

class ConcurrencyTest : public ::testing::Test {
 protected:
  ConcurrencyTest() {
    std::string pattern = ::testing::TempDir() + "ring-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    options_ = {files_, directory_, size_t{1} << 20, false, false};
  }
  ~ConcurrencyTest() override {
    std::vector<std::string> names;
    EXPECT_TRUE(files_->List(directory_, &names).ok());
    for (const std::string& name : names) EXPECT_TRUE(files_->Remove(directory_ + "/" + name).ok());
    rmdir(directory_.c_str());
  }

  kvdyno::FileSystem* files_ = kvdyno::FileSystem::Posix();
  std::string directory_;
  RingOptions options_;
};

TEST_F(ConcurrencyTest, AppendIndexLookupSync) {
  constexpr int kWriters = 2;
  constexpr uint64_t kWrites = 1500;
  RingRecovery recovery;
  std::unique_ptr<Ring> ring;
  ASSERT_TRUE(Ring::Open(options_, 0, {}, false, &recovery, &ring).ok());
  std::shared_ptr<Stage> stage;
  ASSERT_TRUE(ring->Acquire(1, MakeVersion(1, 1), &stage).ok());
  std::mutex write_lock;
  std::atomic<int> writing{kWriters};
  std::vector<std::thread> threads;
  for (int w = 0; w < kWriters; ++w) {
    threads.emplace_back([&, w] {
      for (uint64_t i = 0; i < kWrites; ++i) {
        const std::string key = std::to_string(w) + "-" + std::to_string(i);
        std::string payload;
        AppendOperation(&payload, EntryType::kValue, key, key + "!");
        std::string_view stored;
        Version version = 0;
        {
          const std::lock_guard lock(write_lock);
          version = stage->last() + 1;
          ASSERT_TRUE(stage->HasRoom(payload.size()));
          ASSERT_TRUE(stage->Append(version, 1, payload, &stored).ok());
        }
        stage->Index(version, stored);
        ASSERT_TRUE(stage->MayContain(kvdyno::Hash64(key)));
        Entry entry;
        ASSERT_TRUE(stage->Lookup(key, kNewest, &entry));
        ASSERT_EQ(entry.value, key + "!");
      }
      --writing;
    });
  }
  for (int r = 0; r < 2; ++r) {
    threads.emplace_back([&] {
      while (writing.load() > 0) {
        const Version before = stage->last();
        ASSERT_TRUE(stage->Sync().ok());
        ASSERT_GE(stage->durable(), before);
        size_t seen = 0;
        StageIndex::Cursor cursor = stage->NewCursor();
        for (cursor.Seek("0"); cursor.Valid() && seen < 200; cursor.Next(), ++seen) {
          ASSERT_EQ(cursor.entry().value.size(), cursor.entry().key.size() + 1);
        }
        ASSERT_GT(ring->memory() + stage->memory(), 0u);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  const Version last = stage->last();
  stage.reset();
  ring.reset();
  ASSERT_TRUE(Ring::Open(options_, 0, {}, false, &recovery, &ring).ok());
  EXPECT_EQ(recovery.last, last);
  EXPECT_EQ(recovery.records, kWriters * kWrites);
  EXPECT_EQ(recovery.dropped_bytes, 0u);
  ASSERT_EQ(recovery.stages.size(), 1u);
  EXPECT_TRUE(recovery.stages[0]->Sync().ok());
  ring->Release(recovery.stages[0]);
  EXPECT_TRUE(recovery.stages[0]->Sync().ok());  // late, and without effect
}

}  // namespace
}  // namespace chunkstore
