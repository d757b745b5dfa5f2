#include "maintenance/chunk_editor.h"

#include <gtest/gtest.h>

#include <utility>

#include "kvdyno/base/clock.h"

namespace chunkstore {
namespace {

TEST(ChunkEditor, ReplacesChunksAndNotesWhen) {
  State state{Options{}};
  ChunkEditor editor(&state);
  const auto chunk = [&](const char* from, const char* to) {
    return editor.NewChunk(from, to, editor.EmptyFunk()).release();
  };
  Chunk* left = chunk("", "m");
  Chunk* right = chunk("m", "");
  state.chunks = new ChunkMap({left, right});
  EXPECT_EQ(left->reorganised_ns, 0U) << "not known";

  const uint64_t before = kvdyno::NowNs();
  Chunk* added = chunk("m", "");
  editor.Replace({right}, {added});
  EXPECT_EQ(state.map().chunks(), (std::vector<Chunk*>{left, added}));
  EXPECT_GE(added->reorganised_ns, before);
  EXPECT_EQ(left->reorganised_ns, 0U);
}

}  // namespace
}  // namespace chunkstore
