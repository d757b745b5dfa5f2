#include "core/chunk.h"

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
  size_t at = range.from;
  while (at < range.to && chunks_[at + 1]->min_key <= key) ++at;
  return at;
}

}  // namespace chunkstore
