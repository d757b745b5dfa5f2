#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "kvdyno/base/file_system.h"

namespace kvdyno {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

TEST(AlignedBuffer, IsAlignedAndOfTheSizeAskedFor) {
  const BufferReuse reuse;
  for (const size_t size : {size_t{1}, size_t{4096}, kMiB, kMiB + 1, 3 * kMiB}) {
    AlignedBuffer buffer(size);
    EXPECT_EQ(buffer.size(), size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % kDirectAlignment, 0U);
    std::memset(buffer.data(), 'x', size);
  }
  EXPECT_EQ(AlignedBuffer().data(), nullptr);
}

TEST(BufferReuse, GivesALargeBufferBackToItsThread) {
  const BufferReuse reuse;
  AlignedBuffer first(kMiB);
  const char* const place = first.data();
  first = AlignedBuffer();
  AlignedBuffer small(4096), twice(2 * kMiB), half(kMiB / 2 - 1);
  for (const AlignedBuffer* other : {&small, &twice, &half}) EXPECT_NE(other->data(), place);
  AlignedBuffer second(kMiB - 5000);
  EXPECT_EQ(second.data(), place);
  EXPECT_NE(AlignedBuffer(kMiB).data(), place) << "it is taken";
}

TEST(BufferReuse, KeepsLittle) {
  const BufferReuse reuse;
  std::vector<AlignedBuffer> buffers;
  std::vector<const char*> places;
  for (size_t i = 0; i < 2 * BufferReuse::kMost / kMiB; ++i) {
    buffers.emplace_back(kMiB);
    places.push_back(buffers.back().data());
  }
  for (AlignedBuffer& buffer : buffers) buffer = AlignedBuffer();
  // The first ones that were given up are kept, and the last of them is taken first.
  for (size_t i = BufferReuse::kMost / kMiB; i-- > 0;) {
    buffers[i] = AlignedBuffer(kMiB);
    EXPECT_EQ(buffers[i].data(), places[i]);
  }
}

TEST(BufferReuse, BuffersOutliveItAndMoveBetweenThreads) {
  AlignedBuffer moved;
  std::thread([&moved] {
    const BufferReuse reuse;
    moved = AlignedBuffer(kMiB);
    AlignedBuffer kept(kMiB);
  }).join();
  std::memset(moved.data(), 'x', kMiB);
  const BufferReuse reuse;
  const char* const place = moved.data();
  moved = AlignedBuffer();
  EXPECT_EQ(AlignedBuffer(kMiB).data(), place);
}

}  // namespace
}  // namespace kvdyno
