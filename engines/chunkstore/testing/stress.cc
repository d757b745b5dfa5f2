// chunkstore_stress: the checkers of the guarantees for as long as one likes. `make stress` is the
// long column of the table under Trust in docs/chunkstore.md; a failing test of continuous
// integration is repeated here by its seed. Exit status: 0 nothing violated, 1 wrong usage,
// 2 violations.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "kvdyno/base/clock.h"
#include "kvdyno/base/units.h"
#include "testing/checkers.h"

namespace chunkstore::testing {
namespace {

struct Test {
  const char* name;
  const char* unit;
  uint64_t count;  // of the long run
  bool on_disk;    // needs a directory on a disk
  Checker checker;
  const char* summary;
};

constexpr double kMemorySeconds = 3600;

constexpr Test kTests[] = {
    // First, since what other tests leave behind in the process would count.
    {"memory", "bytes of budget", uint64_t{256} << 20, true, CheckMemory,
     "mixed load at four times the budget; for an hour unless --seconds is given"},
    {"model", "operations", 100'000'000, false, CheckModel,
     "random operations against a model; on disk when asked for by name with --directory"},
    {"power", "seeds", 100'000, false, CheckPowerLoss, "power lost at random calls, simulated"},
    {"kill", "kills", 2000, true, CheckKill, "a writing process is killed"},
    {"faults", "runs", 100'000, false, CheckFaults,
     "EIO and ENOSPC at every call of a script; 0: all calls of one seed"},
    {"full-disk", "seeds", 5000, false, CheckFullDisk, "the disk fills up and is emptied"},
    {"damage", "damages", 100'000, false, CheckDamage, "flipped bits, cuts, missing files"},
    {"snapshots", "operations", 100'000'000, false, CheckSnapshots,
     "concurrent readers see consistent cuts"},
    {"linearizable", "operations", 100'000'000, false, CheckLinearizable,
     "concurrent operations on each key"},
    {"chunks", "chunks", 100'000, true, CheckManyChunks, "opens a store of many chunks"},
    {"recovery", "bytes", uint64_t{1} << 30, true, CheckRecoveryTime,
     "opens a store after its process was killed"},
};

void PrintHelp(std::FILE* to) {
  std::fputs(
      "usage: chunkstore_stress <test>|all [flags]\n\n"
      "  --seed N          of the first round; each further round takes the next (1)\n"
      "  --operations N    how much, in the test's unit (below)\n"
      "  --seconds S       begin no round after so long (10min, 1h; default: no limit)\n"
      "  --threads N       client threads of the concurrent tests (4)\n"
      "  --background N    background threads of the store (1; power, faults, damage: their own)\n"
      "  --value-bytes N   of each row, for the test of memory (500)\n"
      "  --directory D     on a disk, for stores and scratch files (.)\n"
      "  --quiet           no progress\n\ntests:\n",
      to);
  for (const Test& test : kTests) {
    std::fprintf(to, "  %-13s %s (%llu %s)\n", test.name, test.summary,
                 static_cast<unsigned long long>(test.count), test.unit);
  }
}

struct Arguments {
  std::string test;
  CheckOptions options;
  bool count_given = false;
  bool quiet = false;
};

bool ParseNumber(const char* text, uint64_t* number) {
  return kvdyno::ParseBytes(text, number).ok();  // also "1GiB"
}

// False, with a message printed, for what it does not understand.
bool Parse(int argc, char** argv, Arguments* arguments) {
  arguments->options.background_threads = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--quiet") {
      arguments->quiet = true;
      continue;
    }
    if (!flag.starts_with("--")) {
      arguments->test = flag;
      continue;
    }
    const char* value = i + 1 < argc ? argv[++i] : "";
    CheckOptions& options = arguments->options;
    uint64_t number = 0;
    const bool is_number = ParseNumber(value, &number);
    if (flag == "--seed" && is_number) {
      options.seed = number;
    } else if (flag == "--value-bytes" && is_number) {
      options.value_bytes = number;
    } else if (flag == "--operations" && is_number) {
      options.count = number;
      arguments->count_given = true;
    } else if (flag == "--seconds" && kvdyno::ParseSeconds(value, &options.seconds).ok()) {
      if (!arguments->count_given) options.count = UINT64_MAX;
    } else if (flag == "--threads" && is_number && number >= 1 && number <= 16) {
      options.threads = static_cast<int>(number);
    } else if (flag == "--background" && is_number && number <= 64) {
      options.background_threads = static_cast<int>(number);
    } else if (flag == "--directory" && *value != '\0') {
      options.directory = value;
    } else {
      std::fprintf(stderr,
                   "chunkstore_stress: %s: expected a known flag and its value, got \"%s\"\n",
                   flag.c_str(), value);
      return false;
    }
  }
  return true;
}

bool SortedRunTest(const Test& test, const Arguments& arguments) {
  CheckOptions options = arguments.options;
  // Sizes are no limits that time could replace.
  const bool timed = options.seconds > 0 && std::strstr(test.unit, "bytes") == nullptr &&
                     std::strcmp(test.unit, "chunks") != 0;
  if (!arguments.count_given) options.count = timed ? UINT64_MAX : test.count;
  if (test.checker == CheckMemory && options.seconds == 0) options.seconds = kMemorySeconds;
  // With "all" only what needs a disk gets one: the model takes hours there, and minutes in memory.
  if (!test.on_disk && arguments.test == "all") options.directory.clear();
  if (test.on_disk && options.directory.empty()) options.directory = ".";
  uint64_t last = 0;
  options.log = [&](const std::string& line) {
    if (arguments.quiet || kvdyno::NowNs() - last < 10'000'000'000u) return;
    last = kvdyno::NowNs();
    std::fprintf(stderr, "%s\n", line.c_str());
  };
  std::printf("%s: seed %llu\n", test.name, static_cast<unsigned long long>(options.seed));
  std::fflush(stdout);
  const uint64_t start = kvdyno::NowNs();
  const Verdict verdict = test.checker(options);
  std::printf("%s: %s, %s in %.0f s\n", test.name, verdict.ok() ? "passed" : "VIOLATED",
              verdict.ToString().c_str(), static_cast<double>(kvdyno::NowNs() - start) * 1e-9);
  std::fflush(stdout);
  return verdict.ok();
}

int Main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--help") == 0) {
      PrintHelp(stdout);
      return 0;
    }
  }
  Arguments arguments;
  if (!Parse(argc, argv, &arguments)) return 1;
  bool known = false, passed = true;
  for (const Test& test : kTests) {
    if (arguments.test != "all" && arguments.test != test.name) continue;
    known = true;
    passed = SortedRunTest(test, arguments) && passed;
  }
  if (!known) {
    PrintHelp(stderr);
    return 1;
  }
  return passed ? 0 : 2;
}

}  // namespace
}  // namespace chunkstore::testing

int main(int argc, char** argv) { return chunkstore::testing::Main(argc, argv); }
