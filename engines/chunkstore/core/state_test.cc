#include "core/state.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace chunkstore {
namespace {

// A checkpoint whose sync failed answers with fatal(). If another call sets the error at the same
// moment, Ok would promise what the disk does not have.
TEST(State, ACallThatSetsTheFatalErrorSeesIt) {
  constexpr int kRounds = 20'000;
  for (int round = 0; round < kRounds; ++round) {
    State state{Options()};
    std::atomic<int> ready{0}, unseen{0};
    const auto fail = [&] {
      ready.fetch_add(1);
      while (ready.load() < 2) std::this_thread::yield();
      state.SetFatal(Status::IoError("sync: the power is gone"));
      if (state.fatal().ok()) unseen.fetch_add(1);
    };
    std::thread other(fail);
    fail();
    other.join();
    ASSERT_EQ(unseen.load(), 0) << "round " << round;
  }
}

}  // namespace
}  // namespace chunkstore
