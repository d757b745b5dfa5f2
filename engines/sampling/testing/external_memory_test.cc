// External mode stays under its cap, by a count of what the process allocates: data of more than twice the cap, with
// deletes and queries.
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <string>
#include <vector>

#include "sampling/index.h"

namespace {

std::atomic<size_t> allocated{0}, peak{0};

void* Counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  const size_t now = allocated += malloc_usable_size(memory);
  size_t before = peak;
  while (before < now && !peak.compare_exchange_weak(before, now)) {
  }
  return memory;
}
void Free(void* memory) {
  allocated -= malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

void* operator new(size_t size) { return Counted(std::malloc(size)); }
void* operator new(size_t size, std::align_val_t alignment) {
  const size_t align = static_cast<size_t>(alignment);
  return Counted(std::aligned_alloc(align, (size + align - 1) / align * align));
}
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete(void* memory, size_t) noexcept { Free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { Free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { Free(memory); }

namespace sampling {
namespace {

TEST(ExternalMemory, StaysUnderItsCap) {
  constexpr uint64_t kRecords = 1'000'000;
  constexpr size_t kSamples = 1000;
  // A query's own: samples, and the pages of a batch with their places.
  constexpr size_t kQuery = kSamples * sizeof(Record) + 64 * 5000;
  for (const Deletes deletes : {Deletes::kTagging, Deletes::kTombstones}) {
    SCOPED_TRACE(deletes == Deletes::kTagging ? "tagging" : "tombstones");
    Options options;
    options.deletes = deletes;
    options.scale_factor = 4;
    options.buffer_records = 2000;
    options.background = true;
    options.directory = ::testing::TempDir() + "sampling_memory_" + std::to_string(getpid());
    options.memory_levels = 1;
    options.memory_bytes = size_t{9} << 20;
    std::unique_ptr<Index> index;
    const size_t before = allocated;
    peak = before;
    ASSERT_TRUE(Index::Open(options, &index).ok());
    Random random(1);
    std::vector<Record> samples;
    samples.reserve(kSamples);
    for (uint64_t i = 0; i < kRecords; ++i) {
      const Status status = index->Insert({kvdyno::Mix(i), i, 1 + random.Real()});
      ASSERT_TRUE(status.ok()) << status.ToString();
      if (i % 20 == 19) {
        ASSERT_TRUE(index->DeleteUnchecked(kvdyno::Mix(i - 10), i - 10).ok());
      }
      if (i % 5000 == 0) {
        ASSERT_TRUE(index->Sample({}, kSamples, &random, &samples).ok());
      }
    }
    index->Settle();
    const Statistics statistics = index->statistics();
    EXPECT_EQ(statistics.records, kRecords - kRecords / 20);
    EXPECT_GT(statistics.disk_bytes, 2 * options.memory_bytes);
    EXPECT_GT(statistics.pages_read, 0u);
    EXPECT_GT(statistics.page_hits, 0u);
    EXPECT_GE(statistics.pages_written, statistics.disk_bytes / 4096 - statistics.shards);
    EXPECT_LE(statistics.bytes, options.memory_bytes);
    EXPECT_LE(peak - before, options.memory_bytes + kQuery);
    RecordProperty("peak", std::to_string(peak - before));
    index.reset();
    std::filesystem::remove_all(options.directory);
  }
}

}  // namespace
}  // namespace sampling
