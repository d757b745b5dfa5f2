// Each fault that the library can be built with is caught by the checks that the suite makes, and none
// of them fires without a fault.
#include <gtest/gtest.h>

#include <string>

#include "model.h"
#include "structure/seeded_bugs.h"

namespace sampling::guarantees {
namespace {

class Seeding {
 public:
  explicit Seeding(Bug bug) { seeded_bug = bug; }
  ~Seeding() { seeded_bug = Bug::kNone; }
};

// What a check finds; empty: nothing.
using Finding = std::string;

Finding DeviationOf(Model* model, size_t draws) {
  const double deviation = model->Deviation({}, draws);
  return deviation < kFits ? ""
                           : "deviation " + std::to_string(deviation) + " among " +
                                 std::to_string(model->live().size()) + " live records";
}

// Draws, live set and invariants after a history with each kind of weights.
Finding CheckExactness(const Options& options) {
  uint64_t seed = 1;
  for (const Weights weights : {Weights::kUnit, Weights::kPareto, Weights::kGiant}) {
    Model model(options, seed++);
    if (!model.Play(weights, Fill::kHalf, 1500).ok()) return "a call that failed";
    Finding found = model.Difference();
    if (found.empty()) found = DeviationOf(&model, 60000);
    if (!found.empty()) return found;
  }
  return "";
}

// Pairs that are deleted and inserted again, and keys that differ in their upper halves alone.
Finding CheckHistory(const Options& options) {
  Model model(options, 4);
  for (int step = 0; step < 3000; ++step) {
    const Pair pair{model.rng().Below(40) << 32, model.rng().Below(2)};
    const bool live = model.IsLive(pair);
    if (model.rng().OneIn(2)) {
      if (model.Delete(pair).ok() != live) return "a delete that is wrong about its pair";
    } else if (!live && !model.Insert({pair.first, pair.second, 1}).ok()) {
      return "an insert that failed";
    }
    if (step % 50 != 49) continue;
    Finding found = model.Difference();
    if (found.empty() && !model.live().empty()) found = DeviationOf(&model, 2000);
    if (!found.empty()) return found;
  }
  return "";
}

Finding Check(Bug bug, bool external) {
  const Seeding seeding(bug);
  for (const Options& options :
       external ? ExternalPolicies(kWeightedSet) : MemoryPolicies(kWeightedSet)) {
    for (const auto check : {CheckExactness, CheckHistory}) {
      const Finding found = check(options);
      if (!found.empty())
        return NameOf(options) + (check == CheckHistory ? " history: " : " exactness: ") + found;
    }
  }
  return CheckDeletesDuringAMerge(external);
}

class SeededBugs : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(InMemoryAndOnDisk, SeededBugs, ::testing::Bool());

TEST_P(SeededBugs, NoCheckFailsWithoutOne) { EXPECT_EQ(Check(Bug::kNone, GetParam()), ""); }

TEST_P(SeededBugs, EachIsCaught) {
  for (int bug = 1; bug < kBugs; ++bug) {
    EXPECT_NE(Check(static_cast<Bug>(bug), GetParam()), "") << "bug " << bug;
  }
}

}  // namespace
}  // namespace sampling::guarantees
