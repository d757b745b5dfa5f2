// Runs the suite. With `--hold <directory>` it is the other process of the test that opens a
// store twice: opens it, prints so, and holds it until standard input ends. With one of the
// words of fixture.h it is the process that a test of durability loses.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <string_view>

#include "fixture.h"

namespace {

int Hold(const char* directory) {
  const std::unique_ptr<kvdyno::Adapter> adapter = kvdyno::MakeAdapter();
  const kvdyno::Status opened = adapter->Open({.directory = directory});
  std::puts(opened.ok() ? "held" : opened.ToString().c_str());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return opened.ok() && adapter->Close().ok() ? 0 : 1;
}

// Writes the crash test's records, makes them durable in one way or the other, and is killed.
int WriteAndDie(const char* directory, std::string_view way) {
  using namespace kvdyno::conformance;
  const bool sync = way == kSyncAndDie;
  const std::unique_ptr<kvdyno::Adapter> adapter = kvdyno::MakeAdapter();
  const kvdyno::Status opened = adapter->Open({.directory = directory, .sync = sync});
  if (opened.code() == kvdyno::Code::kUnsupported) return kDurabilityUnsupported;
  if (!opened.ok()) return 1;
  const std::unique_ptr<kvdyno::Session> session = adapter->NewSession();
  for (uint64_t i = 0; i < kCrashRecords; i++) {
    if (!session->Put(NumberedKey(i), RandomBytes(i, 800)).ok()) return 1;
  }
  if (way == kSettleAndDie && !adapter->Settle(std::nullopt).ok()) return 1;
  return std::raise(SIGKILL);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace kvdyno::conformance;
  if (argc == 3 && std::string_view(argv[1]) == "--hold") return Hold(argv[2]);
  for (const char* way : {kSettleAndDie, kSyncAndDie, kJustDie}) {
    if (argc == 3 && std::string_view(argv[1]) == way) return WriteAndDie(argv[2], way);
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
