// The checkers of the guarantees: each runs a store through one kind of trouble and returns what
// it saw that must not happen. The tests beside them, the seeded bugs and chunkstore_stress call
// the same. A checker works in rounds; a round is a function of its own seed alone, so that a
// violation is repeated by the seed that it names. Checkers share nothing; each runs its own
// threads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace chunkstore::testing {

struct CheckOptions {
  uint64_t seed = 1;
  uint64_t count = 1;          // in the checker's unit; rounds end at the first one beyond it
  double seconds = 0;          // no round begins after this time; 0: no limit
  int threads = 4;             // of clients, where the checker has several
  int background_threads = 0;  // of the store, where the checker leaves it open
  uint64_t value_bytes = 500;  // of each row, where the checker leaves it open
  bool small_runs = false;     // CheckMemory: many logs of many short runs, found by Bloom filters
  std::string directory;       // on a disk, for checkers that need one; must exist
  std::function<void(const std::string&)> log;  // progress, one line a call; may be empty
};

// What a checker saw. Empty violations: all is well.
struct Verdict {
  static constexpr size_t kMost = 10;
  std::vector<std::string> violations;  // the first kMost
  uint64_t done = 0;                    // in the checker's unit
  uint64_t rounds = 0;
  std::string note;  // measurements for people, one line

  bool ok() const { return violations.empty(); }
  void Add(std::string violation) {
    if (violations.size() < kMost) violations.push_back(std::move(violation));
  }
  std::string ToString() const;
};

using Checker = Verdict (*)(const CheckOptions&);

// Unit: operations. Random operations against a model of ordered keys with versions; options random
// for each round. In memory, or on the disk of `directory` if one is given.
Verdict CheckModel(const CheckOptions& options);
// Unit: seeds. Power lost at a random call, also while recovering, several times a seed: the store
// opens and holds a prefix of all writes, with at least what was promised.
Verdict CheckPowerLoss(const CheckOptions& options);
// Unit: kills. A child writes with several threads, is killed, and nothing acknowledged is lost.
Verdict CheckKill(const CheckOptions& options);
// Unit: runs of a script, each with another call failing. Count 0: all calls of one seed's script;
// else so many runs, spread over each script evenly.
Verdict CheckFaults(const CheckOptions& options);
// Unit: seeds. The disk fills up and is emptied again.
Verdict CheckFullDisk(const CheckOptions& options);
// Unit: damaged directories. Flipped bits, cuts, missing files, garbage: detected or harmless; then
// Repair.
Verdict CheckDamage(const CheckOptions& options);
// Unit: operations. Readers of all kinds see consistent cuts of concurrent batches and puts.
Verdict CheckSnapshots(const CheckOptions& options);
// Unit: operations. Each key is a linearizable register.
Verdict CheckLinearizable(const CheckOptions& options);
// Unit: chunks. Opens a store of so many.
Verdict CheckManyChunks(const CheckOptions& options);
// Unit: bytes. Kills a process that has written so many, and measures recovery.
Verdict CheckRecoveryTime(const CheckOptions& options);
// Unit: bytes of the budget. Mixed load at four times the budget; memory stays inside.
Verdict CheckMemory(const CheckOptions& options);

// --- for checkers

// Rounds of consecutive seeds until count, time or a violation ends them. A round adds what it did
// to Verdict::done; `test` and `unit` are for the log.
Verdict RunRounds(const CheckOptions& options, const char* test, const char* unit,
                  const std::function<void(uint64_t seed, Verdict*)>& round);

// "model with seed 7: expected X, got Y" with the command that repeats it.
std::string Violation(const char* test, uint64_t seed, const std::string& what, uint64_t count = 1);

}  // namespace chunkstore::testing
