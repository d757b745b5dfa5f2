// Salvage: what can still be found in a damaged directory: a state, runs, and the entries in them.
// Reads only. Whatever cannot be read is listed in the report and skipped. One thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "check/sorted_run_file.h"
#include "chunkstore/store.h"
#include "manifest/manifest.h"

namespace chunkstore {

struct SalvagedState {
  ManifestState state;
  bool exact =
      false;  // it is what the store was; else its runs are some of those that count, or none
};
// From the manifest that CURRENT names or, if CURRENT is lost, the newest one that can be read.
Status SalvageState(kvdyno::FileSystem* files, const std::string& directory,
                    const std::vector<std::string>& names, CheckReport* report,
                    SalvagedState* salvaged);

// The runs in a segment, by their footers; a run within another one's values is not taken for one.
Status FindRuns(SegmentFiles* segments, uint64_t segment, std::vector<ExtentRef>* runs);

// A run's entries as far as its blocks can be read; what cannot is reported. Only Next, no Seek.
class SalvageCursor {
 public:
  SalvageCursor(std::unique_ptr<SortedRunFile> run, CheckReport* report);
  bool Valid() const { return valid_; }
  const Entry& entry() const { return entry_; }
  void Next();

 private:
  void ReadBlock();

  std::unique_ptr<SortedRunFile> run_;
  CheckReport* report_;
  size_t block_ = 0;
  uint32_t at_ = 0;
  std::string bytes_;
  BlockView view_;
  bool valid_ = false;
  Entry entry_;
};

}  // namespace chunkstore
