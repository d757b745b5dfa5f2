// Check: reads a store from outside and reports every violated invariant.
// Owns no file and writes nothing. Knows every form on disk, and nothing of a running store:
// CheckStore is for one that is closed; of a running one CheckRuns may be asked for runs that the
// caller keeps alive. One thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "chunkstore/store.h"
#include "kvdyno/base/file_system.h"
#include "manifest/manifest.h"

namespace chunkstore {

// Called now and then, with bytes of runs.
using CheckProgress = std::function<void(uint64_t done, uint64_t total)>;

struct SortedRunToCheck {
  ExtentRef extent;
  std::string min_key, max_key;  // the chunk's range; an empty max_key has no bound
};
// The runs of a state, in the order in which they lie on disk.
std::vector<SortedRunToCheck> RunsOf(const ManifestState& state);

// Every block of these runs: checksums, order, keys within the range, versions of valid epochs as
// `state` has them. *newest: the newest version seen.
void CheckRuns(kvdyno::FileSystem* files, const std::string& directory, const ManifestState& state,
               const std::vector<SortedRunToCheck>& runs, CheckReport* report, Version* newest,
               const CheckProgress& progress = {});

// Everything: CURRENT, manifest, segments, ring. Ok: it was checked, the report lists the problems.
// Not Ok: it could not be, e.g. NotFound without a store.
Status CheckStore(kvdyno::FileSystem* files, const std::string& directory, CheckReport* report,
                  const CheckProgress& progress = {});
// What the last close saved, where it is in force. Damage to it costs time and no data, so it is no
// reason for a repair; a missing file is no problem.
void CheckWarmth(kvdyno::FileSystem* files, const std::string& directory, CheckReport* report);

}  // namespace chunkstore
