// CachedKeys: which keys of the tables that a job rewrites lie in cached blocks. One thread.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "maintenance/policy.h"
#include "memory/block_cache.h"

namespace chunkstore {

class CachedKeys {
 public:
  // The blocks of the job's tables that `cache` holds; it forgets them, so that new ones take their
  // place. A table whose index is not in memory has none. The job's tables must outlive this.
  CachedKeys(const Job& job, BlockCache* cache);

  // Whether the block of the tables that has the key, or would have it, was cached. Keys ascend
  // from call to call.
  bool Holds(std::string_view key);

 private:
  struct Block {
    std::string_view first_key;
    bool cached = false;
  };
  std::vector<Block> blocks_;  // in key order; none if no block was cached
  size_t next_ = 0;            // the first one that begins beyond the last key
};

}  // namespace chunkstore
