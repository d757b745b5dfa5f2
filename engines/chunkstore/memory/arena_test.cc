#include "memory/arena.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace chunkstore {
namespace {

TEST(Arena, SmallWhenNew) {
  EXPECT_EQ(Arena(1024).bytes(), 1024u);
  EXPECT_EQ(Arena().bytes(), 4096u);
}

TEST(Arena, PiecesAreAlignedAndApart) {
  Arena arena(512);
  std::vector<std::pair<char*, size_t>> pieces;
  for (size_t i = 0; i < 5000; ++i) {
    const size_t size = i % 97 == 0 ? 300 * i : 1 + i % 61;
    char* piece = arena.Allocate(size);
    ASSERT_EQ(reinterpret_cast<uintptr_t>(piece) % 8, 0u);
    std::memset(piece, static_cast<int>(i % 251), size);
    pieces.emplace_back(piece, size);
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    const std::string expected(pieces[i].second, static_cast<char>(i % 251));
    ASSERT_EQ(std::string_view(pieces[i].first, pieces[i].second), expected);
  }
}

TEST(Arena, LargePiecesDoNotWasteTheCurrentBlock) {
  Arena arena(4096);
  char* first = arena.Allocate(8);
  (void)arena.Allocate(1 << 20);
  EXPECT_EQ(arena.Allocate(8), first + 8);
  EXPECT_LT(arena.bytes(), (1u << 20) + 8192);
}

TEST(Arena, CountsWhatItTakes) {
  Arena arena(1024);
  size_t asked = 0;
  for (; asked < 10'000'000; asked += 64) (void)arena.Allocate(64);
  EXPECT_GE(arena.bytes(), asked);
  EXPECT_LE(arena.bytes(), asked + 2 * Arena::kLargestBlock);
}

TEST(Arena, Copies) {
  Arena arena;
  std::string text = "chunk";
  const std::string_view copy = arena.Copy(text);
  text = "other";
  EXPECT_EQ(copy, "chunk");
  EXPECT_EQ(arena.Copy(""), "");
}

TEST(Arena, ThreadsGetDistinctPieces) {
  Arena arena(256);
  constexpr size_t kThreads = 4, kPieces = 5000;
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::vector<char*> mine;
      for (size_t i = 0; i < kPieces; ++i) {
        char* piece = arena.Allocate(24);
        std::memcpy(piece, &t, sizeof t);
        std::memcpy(piece + 8, &i, sizeof i);
        mine.push_back(piece);
      }
      for (size_t i = 0; i < kPieces; ++i) {
        ASSERT_EQ(std::memcmp(mine[i], &t, sizeof t), 0);
        ASSERT_EQ(std::memcmp(mine[i] + 8, &i, sizeof i), 0);
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace chunkstore
