// Power losses, kills, failing calls, full disks, damage.
#include "testing/scale.h"

namespace chunkstore::testing {
namespace {

TEST(PowerLoss, LeavesAPrefixWithAllThatWasPromised) { ExpectClean(CheckPowerLoss(Checks(1000))); }

TEST(Kill, LosesNothingAcknowledged) {
  CheckOptions options = Checks(50);
  options.directory = ".";
  ExpectClean(CheckKill(options));
}

// Durability follows the seed: async, sync, none.
class Faults : public ::testing::TestWithParam<uint64_t> {};
TEST_P(Faults, NeverAWrongAnswer) {
  CheckOptions options = Checks(100'000);  // more than there are calls: all
  options.seed = GetParam();
  options.count = Scaled(100'000) == 100'000 ? 0 : Scaled(4000);
  ExpectClean(CheckFaults(options));
}
INSTANTIATE_TEST_SUITE_P(AtEveryCall, Faults, ::testing::Values(3, 4, 5));

TEST(FullDisk, RefusesReadsAndResumes) { ExpectClean(CheckFullDisk(Checks(200))); }

TEST(Damage, IsDetectedOrHarmless) { ExpectClean(CheckDamage(Checks(10'000))); }

}  // namespace
}  // namespace chunkstore::testing
