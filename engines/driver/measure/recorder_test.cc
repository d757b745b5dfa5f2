// A client and an observer at the same time: nothing is lost, nothing is counted twice.
#include "measure/recorder.h"

#include <gtest/gtest.h>

#include <thread>

namespace kvdyno {
namespace {

TallyShape ReadsOnly() {
  TallyShape shape;
  shape.used[static_cast<size_t>(Operation::kRead)] = true;
  return shape;
}

void RecordOne(Recorder* recorder, uint64_t value) {
  Tally& tally = recorder->Active();
  tally.of(Operation::kRead)->latency.Record(value);
  ++tally.bytes_read;
}

TEST(Recorder, ObserverSeesWhatWasRecordedBeforeTheClientAgreed) {
  Recorder recorder(ReadsOnly());
  Tally seen(ReadsOnly());
  RecordOne(&recorder, 1);
  recorder.Ask();
  EXPECT_FALSE(recorder.Collect(&seen));  // the client has not come by yet
  EXPECT_EQ(seen.operations(), 0u);
  RecordOne(&recorder, 2);
  EXPECT_TRUE(recorder.Collect(&seen));
  EXPECT_EQ(seen.operations(), 1u);  // the second one is in the other tally
  recorder.TakeRest(&seen);
  EXPECT_EQ(seen.operations(), 2u);
  EXPECT_EQ(seen.bytes_read, 2u);
}

TEST(Recorder, NothingIsLostBetweenThreads) {
  constexpr uint64_t kOperations = 200'000;
  Recorder recorder(ReadsOnly());
  Tally seen(ReadsOnly());
  std::atomic<bool> done{false};
  std::thread client([&] {
    for (uint64_t i = 0; i < kOperations; ++i) RecordOne(&recorder, i % 5000);
    done = true;
  });
  while (!done) {
    recorder.Collect(&seen);
    recorder.Ask();
  }
  client.join();
  recorder.TakeRest(&seen);
  EXPECT_EQ(seen.operations(), kOperations);
  EXPECT_EQ(seen.bytes_read, kOperations);
  EXPECT_EQ(seen.of(Operation::kRead)->latency.max(), 4999u);
}

}  // namespace
}  // namespace kvdyno
