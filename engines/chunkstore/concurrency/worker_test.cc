// A worker runs what it is given in order, and waits end when they should.
#include "concurrency/worker.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace chunkstore {
namespace {

TEST(Worker, RunsTasksInOrderOnAThreadOfItsOwn) {
  std::vector<int> done;
  std::thread::id ran_on;
  Worker worker(true);
  for (int i = 0; i < 100; ++i) {
    worker.Do([&, i] {
      done.push_back(i);
      ran_on = std::this_thread::get_id();
    });
  }
  worker.Wait();
  ASSERT_EQ(done.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done[static_cast<size_t>(i)], i);
  EXPECT_NE(ran_on, std::this_thread::get_id());
}

TEST(Worker, WaitsForOneTaskAndNotForLaterOnes) {
  std::atomic<bool> go_on{false};
  std::atomic<bool> first_done{false};
  Worker worker(true);
  const uint64_t first = worker.Do([&] { first_done = true; });
  const uint64_t second = worker.Do([&] {
    while (!go_on) std::this_thread::yield();
  });
  worker.WaitFor(first);
  EXPECT_TRUE(first_done);
  go_on = true;
  worker.WaitFor(second);
}

TEST(Worker, EndsWhenAllTasksHaveRun) {
  std::atomic<int> done{0};
  {
    Worker worker(true);
    for (int i = 0; i < 10; ++i) {
      worker.Do([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        ++done;
      });
    }
  }
  EXPECT_EQ(done, 10);
}

TEST(Worker, TakesTasksFromSeveralThreads) {
  std::atomic<int> done{0};
  Worker worker(true);
  std::vector<std::thread> givers;
  for (int i = 0; i < 4; ++i) {
    givers.emplace_back([&] {
      for (int k = 0; k < 100; ++k) worker.WaitFor(worker.Do([&] { ++done; }));
    });
  }
  for (std::thread& giver : givers) giver.join();
  EXPECT_EQ(done, 400);
}

TEST(Worker, WithoutAThreadRunsTasksAtOnce) {
  Worker worker(false);
  std::thread::id ran_on;
  worker.WaitFor(worker.Do([&] { ran_on = std::this_thread::get_id(); }));
  EXPECT_EQ(ran_on, std::this_thread::get_id());
  worker.Wait();
}

// The sanitizers' shadows need address space.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(Worker, WhereTheSystemAllowsNoMoreThreadsRunsTasksAtOnce) {
  // In a process of its own, which has no stack of an earlier thread: without address space for one, no thread begins.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [] {
    const rlimit none = {0, RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &none);
    void* const page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED) _exit(0);  // an emulator that ignores limits
    Worker worker(true);
    bool here = false;
    const std::thread::id caller = std::this_thread::get_id();
    worker.WaitFor(worker.Do([&] { here = std::this_thread::get_id() == caller; }));
    worker.Wait();
    _exit(here ? 0 : 1);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
}
#endif

}  // namespace
}  // namespace chunkstore
