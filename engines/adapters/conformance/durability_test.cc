// What outlives the process that wrote it, and what settling leaves to do.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "fixture.h"

namespace kvdyno::conformance {

namespace {

class ConformanceDurability : public Conformance {
 protected:
  // Runs this binary again, which writes, makes durable by `way`, and kills itself. False when
  // the engine cannot.
  bool WriteInAProcessThatDies(const char* way) {
    Close();
    const pid_t pid = fork();
    if (pid == 0) {
      execl("/proc/self/exe", "conformance", way, directory().c_str(), nullptr);
      _exit(127);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == kDurabilityUnsupported) return false;
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "wait status " << status;
    return true;
  }

  void ExpectRecords() {
    Reopen();
    for (uint64_t i = 0; i < kCrashRecords; i++) ExpectGet(NumberedKey(i), RandomBytes(i, 800));
  }
};

TEST_F(ConformanceDurability, SettledDataOutlivesAKill) {
  if (!adapter().can_settle()) GTEST_SKIP() << "the engine cannot settle";
  ASSERT_TRUE(WriteInAProcessThatDies(kSettleAndDie));
  ExpectRecords();
}

TEST_F(ConformanceDurability, SyncWritesOutliveAKill) {
  if (!WriteInAProcessThatDies(kSyncAndDie)) GTEST_SKIP() << "the engine has no sync writes";
  ExpectRecords();
}

// Readers of a comparison rely on what the adapter promises of its writes.
TEST_F(ConformanceDurability, AcknowledgedWritesOutliveAKillWhereTheAdapterPromises) {
  const std::optional<Durability> durability = adapter().durability(false);
  if (!durability) GTEST_SKIP() << "the adapter does not say what a write survives";
  if (!durability->survives_process) GTEST_SKIP() << "it does not say so: " << durability->note;
  ASSERT_TRUE(WriteInAProcessThatDies(kJustDie));
  ExpectRecords();
}

TEST_F(ConformanceDurability, IsDescribedConsistently) {
  for (const bool sync : {false, true}) {
    const std::optional<Durability> durability = adapter().durability(sync);
    if (!durability) GTEST_SKIP() << "the adapter does not say what a write survives";
    EXPECT_FALSE(durability->note.empty());
    EXPECT_TRUE(durability->survives_process || !durability->survives_power);
    if (durability->survives_power) {
      EXPECT_EQ(durability->power_loss_seconds, 0.0);
    } else {
      EXPECT_NE(durability->power_loss_seconds, 0.0);
    }
  }
}

TEST_F(ConformanceDurability, WhatIsSettledNeedsNoLog) {
  if (!adapter().can_skip_log()) GTEST_SKIP() << "the engine always writes its log";
  Reopen(false);
  for (uint64_t i = 0; i < kCrashRecords; i++) ExpectPut(NumberedKey(i), RandomBytes(i, 800));
  ExpectGet(NumberedKey(1), RandomBytes(1, 800));
  Settle();
  ExpectRecords();
}

// Everything that the engine counts in bytes: what it wrote, and what it holds.
std::map<std::string, double> BytesCounted(Adapter* adapter) {
  std::vector<Counter> counters;
  adapter->Sample(&counters);
  std::map<std::string, double> bytes;
  for (const Counter& counter : counters) {
    if (counter.unit == "byte") bytes[counter.name] = counter.value;
  }
  return bytes;
}

TEST_F(ConformanceDurability, SettleLeavesNothingToWrite) {
  if (!adapter().can_settle()) GTEST_SKIP() << "the engine cannot settle";
  for (uint64_t i = 0; i < 2 * 10'000; i++) {
    ExpectPut(NumberedKey(i % 10'000), RandomBytes(i, 800));
  }
  Settle();
  const auto settled = BytesCounted(&adapter());
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(BytesCounted(&adapter()), settled);
}

}  // namespace

}  // namespace kvdyno::conformance
