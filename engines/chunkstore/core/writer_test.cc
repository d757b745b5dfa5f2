// When a write calls background work, without any: that it is done is for tests of the store.
#include "core/writer.h"

#include <gtest/gtest.h>

#include "kvdyno/base/testing/simulated_file_system.h"
#include "stage/record.h"

namespace chunkstore {
namespace {

constexpr size_t kStageSize = size_t{64} << 10;

Options Resolved() {
  Options options;
  options.stage_size = kStageSize;
  return options;
}

// A state of one empty chunk, whose stages are in memory.
class WriterTest : public ::testing::Test {
 protected:
  WriterTest()
      : files_(1),
        state_(Resolved()),
        writer_(&state_, [] { return Status::Ok(); }, [this] { ++calls_; }) {
    auto funk = std::make_unique<Funk>();
    funk->log = std::make_shared<Log>(&state_.log_policy, nullptr, std::vector<ExtentRef>{});
    state_.chunks = new ChunkMap({new Chunk(1, "", "", std::move(funk))});
    EXPECT_TRUE(files_.CreateDirectory("/store").ok());
    RingOptions ring;
    ring.files = &files_;
    ring.directory = "/store";
    ring.stage_size = kStageSize;
    ring.in_memory = true;
    RingRecovery recovery;
    EXPECT_TRUE(Ring::Open(ring, 0, {}, false, &recovery, &state_.ring).ok());
    const kvdyno::MutexLock lock(state_.write_mutex);
    EXPECT_TRUE(state_.ring->Acquire(state_.next_sequence++, 1, &state_.active).ok());
    PublishStages(&state_, new StageList{{state_.active}});
    state_.gate.Open();
  }
  void Put(size_t value_bytes) {
    std::string payload;
    AppendOperation(&payload, EntryType::kValue, "key", std::string(value_bytes, 'v'));
    ASSERT_TRUE(writer_.Write(payload, 1, /*sync=*/false).ok());
  }

  kvdyno::testing::SimulatedFileSystem files_;
  State state_;
  int calls_ = 0;
  Writer writer_;
};

TEST_F(WriterTest, CallsOnceAfterItWasAsked) {
  Put(10);
  EXPECT_EQ(calls_, 0);
  state_.wake_on_write = true;
  Put(10);
  EXPECT_EQ(calls_, 1);
  Put(10);
  EXPECT_EQ(calls_, 1);
  state_.wake_on_write = true;
  Put(10);
  EXPECT_EQ(calls_, 2);
}

TEST_F(WriterTest, CallsWhenAStageIsFull) {
  for (int i = 0; i < 8; ++i) Put(kStageSize / 6);
  EXPECT_EQ(calls_, 1);
}

TEST_F(WriterTest, WaitsForWhatEarlierWritesOwe) {
  const auto waited = [this] { return state_.counters.Sum(Count::kSlowdownMicros); };
  Put(10);
  Put(10);
  EXPECT_EQ(waited(), 0U);
  state_.pace.SetDebt(1e6);
  Put(10);
  EXPECT_EQ(waited(), 0U) << "nothing was owed yet";
  // Again where this thread did not run for as long.
  for (int i = 0; i < 100 && waited() == 0; ++i) Put(10);
  EXPECT_GE(waited(), Pace::kNapNs / 1000);
}

}  // namespace
}  // namespace chunkstore
