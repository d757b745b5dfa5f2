#include "index/arena.h"

#include <gtest/gtest.h>

#include <cstring>

namespace sampling {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

TEST(Arena, GivesAgainWhatWasGivenBack) {
  Arena arena(1);
  void* const stays = arena.allocate(16 * kMiB, 32);
  void* const first = arena.allocate(8 * kMiB, 32);
  std::memset(first, 1, 8 * kMiB);
  arena.deallocate(first, 8 * kMiB, 32);
  EXPECT_EQ(arena.kept(), 8 * kMiB);
  void* const small = arena.allocate(2 * kMiB, 32);
  void* const rest = arena.allocate(6 * kMiB, 32);
  EXPECT_EQ(small, first);
  EXPECT_EQ(rest, static_cast<char*>(first) + 2 * kMiB);
  EXPECT_EQ(arena.kept(), 0u);
  arena.deallocate(rest, 6 * kMiB, 32);
  arena.deallocate(small, 2 * kMiB, 32);
  void* const whole = arena.allocate(8 * kMiB, 32);  // neighbours are one again
  EXPECT_EQ(whole, first);
  arena.deallocate(whole, 8 * kMiB, 32);
  arena.deallocate(stays, 16 * kMiB, 32);
}

TEST(Arena, KeepsAtMostItsShare) {
  Arena arena(0.25);
  void* const stays = arena.allocate(16 * kMiB, 32);
  void* const goes = arena.allocate(10 * kMiB, 32);
  arena.deallocate(goes, 10 * kMiB, 32);
  EXPECT_EQ(arena.kept(), 4 * kMiB);
  arena.deallocate(stays, 16 * kMiB, 32);
  EXPECT_EQ(arena.kept(), 0u);
}

TEST(Arena, LeavesSmallArraysToTheAllocator) {
  Arena arena(1);
  void* const small = arena.allocate(100, 64);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(small) % 64, 0u);
  arena.deallocate(small, 100, 64);
  EXPECT_EQ(arena.kept(), 0u);
}

TEST(Arena, MoreThanThereIsThrows) {
  Arena arena(1);
  EXPECT_THROW(static_cast<void>(arena.allocate(size_t{1} << 60, 32)), std::bad_alloc);
  EXPECT_EQ(arena.kept(), 0u);
}

}  // namespace
}  // namespace sampling
