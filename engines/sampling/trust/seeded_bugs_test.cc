// Each fault that the library can be built with is caught by the checks that the suite makes, and none
// of them fires without a fault.
#include <gtest/gtest.h>

#include <thread>

#include "model.h"
#include "structure/seeded_bugs.h"

namespace sampling::trust {
namespace {

class Seeding {
 public:
  explicit Seeding(Bug bug) { seeded_bug = bug; }
  ~Seeding() { seeded_bug = Bug::kNone; }
};

// Draws, live set and invariants after a history with each kind of weights.
bool ExactnessFails(const Options& options) {
  uint64_t seed = 1;
  for (const Weights weights : {Weights::kUnit, Weights::kPareto, Weights::kGiant}) {
    Model model(options, seed++);
    if (!model.Play(weights, Fill::kHalf, 1500).ok()) return true;
    if (!model.Difference().empty() || !(model.Deviation({}, 60000) < kFits)) return true;
  }
  return false;
}

// Pairs that are deleted and inserted again, and keys that differ in their upper halves alone.
bool HistoryFails(const Options& options) {
  Model model(options, 4);
  for (int step = 0; step < 3000; ++step) {
    const Pair pair{model.rng().Below(40) << 32, model.rng().Below(2)};
    const bool live = model.IsLive(pair);
    if (model.rng().OneIn(2)) {
      if (model.Delete(pair).ok() != live) return true;
    } else if (!live && !model.Insert({pair.first, pair.second, 1}).ok()) {
      return true;
    }
    if (step % 50 == 49) {
      if (!model.Difference().empty()) return true;
      if (!model.live().empty() && !(model.Deviation({}, 2000) < kFits)) return true;
    }
  }
  return false;
}

// Deletes while the index merges: some come between a merge's begin and its end.
bool BackgroundFails(Options options) {
  options.background = true;
  options.buffer_records = 2000;
  Model model(options, 5);
  for (uint64_t i = 0; i < 60000; ++i) {
    if (!model.Insert({i, 0, 1}).ok()) return true;
    if (i % 2000 == 1999) {  // the buffer has just been frozen
      for (uint64_t late = i - 1000; late < i; late += 2) {
        if (!model.Delete({late, 0}).ok()) return true;
        if (late % 32 == 0) std::this_thread::yield();
      }
    }
  }
  model.index().Settle();
  return !model.Difference().empty();
}

bool Caught(Bug bug) {
  const Seeding seeding(bug);
  bool caught = false;
  for (const Options& options : Policies(kWeightedSet)) {
    caught = caught || ExactnessFails(options) || HistoryFails(options);
  }
  return caught || BackgroundFails(Policies(kWeightedSet)[2]);
}

TEST(SeededBugs, NoCheckFailsWithoutOne) { EXPECT_FALSE(Caught(Bug::kNone)); }

TEST(SeededBugs, EachIsCaught) {
  for (int bug = 1; bug < kBugs; ++bug) EXPECT_TRUE(Caught(static_cast<Bug>(bug))) << "bug " << bug;
}

}  // namespace
}  // namespace sampling::trust
