// Sampler: a set of weighted records that changes, and independent draws from it with replacement.
// The dynamic index and every baseline implement it. Errors leave a sampler as it was.
// One thread at a time, unless a sampler's own header promises more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "kvdyno/base/random.h"
#include "kvdyno/base/status.h"
#include "sampling/record.h"

namespace sampling {

using kvdyno::Random;
using kvdyno::Status;

struct Statistics {
  uint64_t records = 0;  // live
  uint64_t bytes = 0;    // that it allocated, unused capacity included, without the allocator's own
  uint64_t draws = 0;    // trials, the rejected ones included
  uint64_t accepted = 0;
  // What the dynamic index alone counts.
  uint64_t buffered = 0;  // entries that no shard holds yet
  uint64_t levels = 0;
  uint64_t shards = 0;
  uint64_t deleted = 0;        // tagged records and tombstones that shards still hold
  uint64_t written = 0;        // records that merges wrote, since the index was opened
  uint64_t materialised = 0;   // queries that rejections made go through the live records
  uint64_t disk_bytes = 0;     // of shards' files
  uint64_t pages_read = 0;     // by queries and deletes, from shards' files
  uint64_t page_hits = 0;      // that queries and deletes found in the cache instead
  uint64_t pages_written = 0;  // by merges, into shards' files
};

class Sampler {
 public:
  virtual ~Sampler() = default;

  // The pair (key, value) must not be live: samplers may count it twice. InvalidArgument for a weight
  // that is negative, NaN or above kMaxWeight; NoSpace when the sampler is full.
  virtual Status Insert(const Record& record) = 0;

  // NotFound when the pair is not live.
  virtual Status Delete(uint64_t key, uint64_t value) = 0;

  // Replaces *samples by k independent draws: each accepted record with probability weight / sum of
  // the accepted records' weights. NotFound, and no samples, when that sum is 0. InvalidArgument for
  // k = 0, a k that does not fit into this machine's memory, and a range whose end precedes its begin.
  virtual Status Sample(const Query& query, size_t k, Random* random,
                        std::vector<Record>* samples) = 0;

  virtual Statistics statistics() const = 0;
};

// The checks that every sampler makes of its input.
Status CheckRecord(const Record& record);
Status CheckQuery(const Query& query, size_t k);
Status NothingToDraw();

}  // namespace sampling
