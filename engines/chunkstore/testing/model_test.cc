// Random operations against the model: 10^7 in all.
#include "testing/scale.h"

namespace chunkstore::testing {
namespace {

TEST(Model, WithoutThreads) { ExpectClean(CheckModel(Checks(6'000'000))); }

TEST(Model, WithABackgroundThread) {
  CheckOptions options = Checks(3'000'000);
  options.seed += 1'000'000;
  options.background_threads = 1;
  ExpectClean(CheckModel(options));
}

TEST(Model, OnDisk) {
  CheckOptions options = Checks(1'000'000);
  options.seed += 2'000'000;
  options.background_threads = 1;
  options.directory = ".";
  ExpectClean(CheckModel(options));
}

}  // namespace
}  // namespace chunkstore::testing
