// Calls against a close: the close waits for calls that found the gate open; later calls are
// refused.
#include "concurrency/call_gate.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <vector>

namespace chunkstore {
namespace {

TEST(CallGate, BeginsClosed) {
  CallGate gate;
  EXPECT_TRUE(gate.closed());
  EXPECT_FALSE(CallGate::Call(&gate).open());
  gate.Open();
  EXPECT_TRUE(CallGate::Call(&gate).open());
  EXPECT_TRUE(gate.Close());
  EXPECT_FALSE(gate.Close()) << "it was closed already";
  EXPECT_FALSE(CallGate::Call(&gate).open());
}

TEST(CallGate, CallsNest) {
  CallGate gate;
  gate.Open();
  std::optional<CallGate::Call> outer(&gate);
  {
    const CallGate::Call inner(&gate);
  }
  gate.Close();
  std::atomic<bool> through{false};
  std::thread closer([&] {
    gate.WaitForCalls();
    through = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(through);
  outer.reset();
  closer.join();
  EXPECT_TRUE(through);
}

TEST(CallGate, NoCallIsInsideAfterAClose) {
  for (int round = 0; round < 200; ++round) {
    CallGate gate;
    gate.Open();
    std::atomic<int> alive{1};
    std::atomic<int> late{0};
    std::vector<std::thread> callers;
    for (int i = 0; i < 3; ++i) {
      callers.emplace_back([&] {
        for (;;) {
          const CallGate::Call call(&gate);
          if (!call.open()) return;
          if (alive == 0) ++late;
        }
      });
    }
    std::this_thread::yield();
    gate.Close();
    gate.WaitForCalls();
    alive = 0;
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(late, 0);
  }
}

}  // namespace
}  // namespace chunkstore
