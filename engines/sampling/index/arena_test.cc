#include "index/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace sampling {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

bool Holds(const void* data, size_t bytes, char byte) {
  const char* const begin = static_cast<const char*>(data);
  return std::all_of(begin, begin + bytes, [&](char each) { return each == byte; });
}

TEST(Arena, GivesAgainWhatWasGivenBack) {
  Arena arena(1);
  void* const stays = arena.allocate(16 * kMiB, 32);
  void* const first = arena.allocate(5 * kMiB, 32);
  void* const second = arena.allocate(4 * kMiB, 32);
  std::memset(first, 1, 5 * kMiB);
  std::memset(second, 1, 4 * kMiB);
  arena.deallocate(first, 5 * kMiB, 32);
  EXPECT_EQ(arena.kept(), 4 * kMiB);  // whole granules
  arena.deallocate(second, 4 * kMiB, 32);
  EXPECT_EQ(arena.kept(), 8 * kMiB);
  void* const both = arena.allocate(10 * kMiB, 32);  // from two arrays, and fresh at its end
  EXPECT_EQ(arena.kept(), 0u);
  EXPECT_TRUE(Holds(both, 8 * kMiB, 1));
  EXPECT_TRUE(Holds(static_cast<char*>(both) + 8 * kMiB, 2 * kMiB, 0));
  arena.deallocate(both, 10 * kMiB, 32);
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
