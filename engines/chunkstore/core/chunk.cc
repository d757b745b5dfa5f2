#include "core/chunk.h"

#include <algorithm>
#include <cassert>

namespace chunkstore {

ChunkMap::ChunkMap(std::vector<Chunk*> chunks) : chunks_(std::move(chunks)) {
  assert(!chunks_.empty() && chunks_.front()->min_key.empty());
  words_.Build(chunks_.size() - 1,
               [this](size_t i) -> std::string_view { return chunks_[i + 1]->min_key; });
}

// The last chunk whose minimal key is at or before the key.
size_t ChunkMap::Position(std::string_view key) const {
  const PrefixWords::Range range = words_.Narrow(key);
  const auto second = chunks_.begin() + 1;
  const auto above = std::upper_bound(
      second + static_cast<long>(range.from), second + static_cast<long>(range.to), key,
      [](std::string_view wanted, const Chunk* chunk) { return wanted < chunk->min_key; });
  return static_cast<size_t>(above - second);
}

}  // namespace chunkstore
