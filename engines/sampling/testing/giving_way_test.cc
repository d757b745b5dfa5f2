// Merges in the background give way to threads that wait for their processor, unless a caller waits for the merge.
// sched_yield counts its calls here instead of what it does.
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "sampling/index.h"
#include "structure/give_way.h"

namespace sampling::guarantees {
namespace {

std::atomic<size_t> yields{0};

constexpr size_t kBuffer =
    100'000;  // more than the steps between two calls, in each loop of a merge

// Inserts one record more than the buffer holds, polls until the merge is over, and counts its calls.
size_t YieldsOfAMerge(bool background) {
  Options options;
  options.buffer_records = kBuffer;
  options.background = background;
  std::unique_ptr<Index> index;
  EXPECT_TRUE(Index::Open(options, &index).ok());
  yields = 0;
  for (uint64_t key = 0; key <= kBuffer; ++key) EXPECT_TRUE(index->Insert({key, 0, 1}).ok());
  while (index->statistics().written == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return yields;
}

TEST(GivingWay, AMergeInTheBackgroundGivesWay) { EXPECT_GT(YieldsOfAMerge(true), 0u); }

TEST(GivingWay, TheWriterGivesWayToNone) { EXPECT_EQ(YieldsOfAMerge(false), 0u); }

TEST(GivingWay, NotWhileACallerWaits) {
  std::atomic<int> callers{1};
  waiting_callers = &callers;
  yields = 0;
  for (size_t step = 0; step < kBuffer; ++step) GiveWay(step);
  EXPECT_EQ(yields, 0u);
  callers = 0;
  for (size_t step = 0; step < kBuffer; ++step) GiveWay(step);
  EXPECT_EQ(yields, kBuffer / 4096);
  waiting_callers = nullptr;
}

}  // namespace
}  // namespace sampling::guarantees

extern "C" int sched_yield() {
  ++sampling::guarantees::yields;
  return 0;
}
