// Index: a static sampling structure made dynamic, by a buffer and levels of immutable shards.
// Threads: one writer at a time (Insert, Delete, DeleteUnchecked, Settle); any number of others may call
// everything else meanwhile. A query sees one moment, and waits for no merge.
// Memory that merges cannot get ends the process.
#pragma once

#include <memory>
#include <vector>

#include "sampling/options.h"
#include "sampling/sampler.h"

namespace sampling {

class Index : public Sampler {
 public:
  // InvalidArgument names the option that is out of its range.
  static Status Open(const Options& options, std::unique_ptr<Index>* index);

  // Delete without the search for the record, which the caller knows to be live. Under tagging, where
  // the search is the deletion, the same as Delete.
  virtual Status DeleteUnchecked(uint64_t key, uint64_t value) = 0;

  // Every live record that the query accepts, sorted by (key, value).
  virtual std::vector<Record> Live(const Query& query) const = 0;

  // Waits until no merge is due.
  virtual void Settle() = 0;

  // Checks order, capacities, weights, filters and, when settled, the rejection bound: Internal, naming level and
  // shard, where one does not hold. Reads everything.
  virtual Status Verify() const = 0;
};

}  // namespace sampling
