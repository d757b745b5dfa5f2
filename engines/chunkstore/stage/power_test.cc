// Power losses at random moments: what comes back is a prefix, with at least all that was
// synchronised. MiniStore::Open checks it.
#include <gtest/gtest.h>

#include "kvdyno/base/testing/simulated_file_system.h"
#include "stage/ring_fixture.h"

namespace chunkstore {
namespace {

using kvdyno::testing::Loss;
using kvdyno::testing::SimulatedFileSystem;

// One life: a recovery, writes, checkpoints and flushes, until the power goes or the process dies.
void Live(MiniStore* store, std::mt19937_64* random) {
  if ((*random)() % 4 != 0 && !store->Sync().ok()) return;
  for (uint64_t steps = (*random)() % 120; steps > 0; --steps) {
    const uint64_t dice = (*random)() % 40;
    if (dice == 0 && !store->stages().empty()) {
      store->FlushOldest();
    } else if (dice < 4) {
      if (!store->Sync().ok()) return;
    } else if (!store->WriteRandom(random, dice == 5 ? 6000 : 300).ok()) {
      return;
    }
  }
}

class PowerLoss : public ::testing::TestWithParam<Loss> {};

TEST_P(PowerLoss, APrefixComesBack) {
  const uint64_t seed = std::random_device{}();
  for (uint64_t run = 0; run < 60; ++run) {
    SCOPED_TRACE("seed " + std::to_string(seed) + " run " + std::to_string(run));
    std::mt19937_64 random(seed + run);
    SimulatedFileSystem files(seed + run);
    ASSERT_TRUE(files.CreateDirectory("/ring").ok());
    ASSERT_TRUE(files.SyncDirectory("/").ok());
    MiniStore store(&files, "/ring", 16384);
    for (int life = 0; life < 8; ++life) {
      SCOPED_TRACE("life " + std::to_string(life));
      const Status opened = store.Open();
      ASSERT_TRUE(opened.ok()) << opened.ToString();
      if (HasFailure()) return;
      const bool sudden = random() % 2 == 0;
      if (sudden) files.LosePowerAfter(random() % 40, GetParam());
      Live(&store, &random);
      if (!files.power_lost()) files.LosePower(GetParam());
      store.Close();
      files.Restart();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, PowerLoss,
                         ::testing::Values(Loss::kDropAll, Loss::kKeepAll, Loss::kRandom,
                                           Loss::kTorn));

TEST(ProcessDeath, LosesNothing) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  SimulatedFileSystem files(seed);
  ASSERT_TRUE(files.CreateDirectory("/ring").ok());
  MiniStore store(&files, "/ring", 16384);
  for (int life = 0; life < 200; ++life) {
    const Version last = store.last();
    ASSERT_TRUE(store.Open().ok());
    ASSERT_EQ(NumberOf(store.last()), NumberOf(last));
    ASSERT_EQ(store.recovery().dropped_bytes, 0u) << store.recovery().dropped_reason;
    Live(&store, &random);
    store.Close();
  }
}

}  // namespace
}  // namespace chunkstore
