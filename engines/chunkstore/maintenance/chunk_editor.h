// ChunkEditor: changes the chunk map, and records chunks in the manifest. What flushes and
// reorganisations have in common. Under State::maintenance_mutex.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/state.h"

namespace chunkstore {

class ChunkEditor {
 public:
  explicit ChunkEditor(State* state) : state_(*state) {}

  // Not in the map yet.
  std::unique_ptr<Chunk> NewChunk(std::string min_key, std::string max_key,
                                  std::unique_ptr<const Funk> funk);
  static ChunkRecord RecordOf(uint64_t id, const std::string& min_key, const Funk& funk);
  std::unique_ptr<Funk> EmptyFunk() const;

  // Durable on return. An error that is not for lack of space ends writing.
  Status Apply(const Edit& edit);
  // Puts a map with `added` in the place of `removed`, and retires those.
  void Replace(const std::vector<Chunk*>& removed, const std::vector<Chunk*>& added);
  // The space of these runs goes back once no read uses them; the manifest has forgotten them.
  static void ObsoleteRuns(const Funk& funk);
  // `to` hold what `from` held: they are as hot, each by its part.
  static void InheritHeat(const std::vector<Chunk*>& from, const std::vector<Chunk*>& to);

 private:
  State& state_;
};

}  // namespace chunkstore
