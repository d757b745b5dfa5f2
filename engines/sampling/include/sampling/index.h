// Index: a static sampling structure made dynamic, by a buffer and levels of immutable shards.
// Threads: one writer at a time (Insert, Delete, DeleteUnchecked, Settle); any number of others may call
// everything else meanwhile. A query sees one moment, and waits for no merge.
// In external mode every call but Settle and statistics may return what the file system reports, or Corruption with
// file and offset, never a wrong sample. An insert, or a delete by tombstone, that needs room in the buffer reports
// why the last merge failed; then the index is as before, and the next call tries to merge again.
// Memory that merges cannot get ends the process.
#pragma once

#include <memory>
#include <vector>

#include "sampling/options.h"
#include "sampling/sampler.h"

namespace sampling {

class Index : public Sampler {
 public:
  // InvalidArgument names the option that is out of its range. Busy: another index has the directory.
  static Status Open(const Options& options, std::unique_ptr<Index>* index);

  // Delete without the search for the record, which the caller knows to be live. Under tagging, where
  // the search is the deletion, the same as Delete.
  virtual Status DeleteUnchecked(uint64_t key, uint64_t value) = 0;

  // Replaces *records by every live record that the query accepts, sorted by (key, value). Fails, and leaves none,
  // where the directory cannot be read.
  virtual Status Live(const Query& query, std::vector<Record>* records) const = 0;

  // Waits until no merge is due, or the last one failed: then a later insert tries again.
  virtual void Settle() = 0;

  // Checks order, capacities, weights, filters and, when settled, the rejection bound: Internal, naming level and
  // shard, where one does not hold. Reads everything.
  virtual Status Verify() const = 0;
};

}  // namespace sampling
