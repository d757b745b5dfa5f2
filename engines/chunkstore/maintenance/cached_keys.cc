#include "maintenance/cached_keys.h"

namespace chunkstore {

CachedKeys::CachedKeys(const Job& job, BlockCache* cache) {
  bool any = false;
  for (const Chunk* chunk : job.chunks) {
    const SortedRunIndex* index = nullptr;
    const SortedRun* table = chunk->funk().table.get();
    if (table == nullptr || table->memory() == 0 || !table->Index(&index).ok()) continue;
    const ExtentRef& extent = table->extent();
    for (size_t i = 0; i < index->blocks.size(); ++i) {
      const uint64_t offset = extent.offset + index->blocks[i].offset;
      const bool cached = cache->Holds(extent.segment, offset);
      if (cached) cache->Forget(extent.segment, offset);
      blocks_.push_back({index->first_key(i), cached});
      any |= cached;
    }
  }
  if (!any) blocks_.clear();
}

bool CachedKeys::Holds(std::string_view key) {
  while (next_ < blocks_.size() && blocks_[next_].first_key <= key) ++next_;
  return next_ > 0 && blocks_[next_ - 1].cached;
}

}  // namespace chunkstore
