// Ranges of options, automatic values, and budgets that cannot hold what they should.
#include "store/resolve.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "kvdyno/base/file_system.h"

namespace chunkstore {
namespace {

using kvdyno::Code;
using kvdyno::Status;

constexpr uint64_t kKiB = 1024, kMiB = kKiB * 1024, kGiB = kMiB * 1024;

Options Resolve(const Options& given, uint64_t cap) {
  Options resolved;
  const Status status = ResolveOptions(given, cap, &resolved);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return resolved;
}

struct OutOfRange {
  std::string option, least, got;
  std::function<void(Options*)> set;
};

TEST(ResolveOptions, NamesTheOptionTheRangeAndTheValue) {
  const std::vector<OutOfRange> cases = {
      {"checkpoint_interval_s", "0.01", "0.001",
       [](Options* o) { o->checkpoint_interval_s = 0.001; }},
      {"checkpoint_interval_s", "3600", "3601",
       [](Options* o) { o->checkpoint_interval_s = 3601; }},
      {"checkpoint_interval_s", "0.01", "nan",
       [](Options* o) { o->checkpoint_interval_s = std::stod("nan"); }},
      {"memory_budget", "33554432", "33554431",
       [](Options* o) { o->memory_budget = 32 * kMiB - 1; }},
      {"stage_size", "65536", "65535", [](Options* o) { o->stage_size = 64 * kKiB - 1; }},
      {"stage_size", "1073741824", "1073741825", [](Options* o) { o->stage_size = kGiB + 1; }},
      {"chunk_size", "4096", "4095", [](Options* o) { o->chunk_size = 4 * kKiB - 1; }},
      {"chunk_size", "1073741824", "1073741825", [](Options* o) { o->chunk_size = kGiB + 1; }},
      {"block_size", "256", "255", [](Options* o) { o->block_size = 255; }},
      {"block_size", "1048576", "1048577", [](Options* o) { o->block_size = kMiB + 1; }},
      {"block_size", "256", "0", [](Options* o) { o->block_size = 0; }},
      {"bloom_split", "1", "0", [](Options* o) { o->bloom_split = 0; }},
      {"bloom_split", "16", "17", [](Options* o) { o->bloom_split = 17; }},
      {"bloom_split", "1", "-1", [](Options* o) { o->bloom_split = -1; }},
      {"table_filter_bits", "0", "-1", [](Options* o) { o->table_filter_bits = -1; }},
      {"table_filter_bits", "32", "33", [](Options* o) { o->table_filter_bits = 33; }},
      {"bloom_bits", "1", "0.5", [](Options* o) { o->bloom_bits = 0.5; }},
      {"bloom_bits", "32", "33", [](Options* o) { o->bloom_bits = 33; }},
      {"log_limit", "4096", "1", [](Options* o) { o->log_limit = 1; }},
      {"munk_log_limit", "4096", "4095", [](Options* o) { o->munk_log_limit = 4095; }},
      {"max_open_files", "16", "15", [](Options* o) { o->max_open_files = 15; }},
      {"background_threads", "0", "-1", [](Options* o) { o->background_threads = -1; }},
      {"background_threads", "64", "65", [](Options* o) { o->background_threads = 65; }},
  };
  for (const OutOfRange& one : cases) {
    SCOPED_TRACE(one.option + " = " + one.got);
    Options given, resolved;
    one.set(&given);
    const Status status = ResolveOptions(given, kGiB, &resolved);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    const std::string& message = status.message();
    EXPECT_NE(message.find("option " + one.option + ":"), std::string::npos) << message;
    EXPECT_NE(message.find("expected "), std::string::npos) << message;
    EXPECT_NE(message.find(one.least), std::string::npos) << message;
    EXPECT_TRUE(message.ends_with("got " + one.got)) << message;
  }
}

TEST(ResolveOptions, TheEndsOfRangesAreInside) {
  Options low;
  low.checkpoint_interval_s = 0.01;
  low.memory_budget = 32 * kMiB;
  low.stage_size = 64 * kKiB;
  low.chunk_size = low.log_limit = low.munk_log_limit = 4 * kKiB;
  low.block_size = 256;
  low.bloom_split = 1;
  low.bloom_bits = 1;
  low.max_open_files = 16;
  low.background_threads = 0;
  low.munk_cache_size = low.row_cache_size = low.block_cache_size = 0;
  const Options resolved = Resolve(low, 0);
  EXPECT_EQ(resolved.chunk_size, 4 * kKiB);
  EXPECT_EQ(resolved.munk_cache_size, 0U);

  Options high;
  high.checkpoint_interval_s = 3600;
  high.memory_budget = 16 * kGiB;
  high.stage_size = high.chunk_size = kGiB;
  high.block_size = kMiB;
  high.bloom_split = 16;
  high.bloom_bits = 32;
  high.background_threads = 64;
  Resolve(high, 0);
}

TEST(ResolveOptions, AutomaticValuesAt256MiB) {
  const Options resolved = Resolve({}, 256 * kMiB);
  EXPECT_EQ(resolved.memory_budget, 240 * kMiB) << "fifteen sixteenths of the cap";
  EXPECT_EQ(resolved.stage_size, 8 * kMiB) << "1/30 of the budget";
  EXPECT_EQ(resolved.chunk_size, 2 * kMiB) << "a 120th of the budget";
  EXPECT_EQ(resolved.log_limit, resolved.chunk_size);
  EXPECT_EQ(resolved.munk_log_limit, 10 * resolved.chunk_size);
  EXPECT_EQ(resolved.munk_cache_size, Options::kAdaptive);
  EXPECT_EQ(resolved.row_cache_size, Options::kAdaptive);
  EXPECT_EQ(resolved.block_cache_size, Options::kAdaptive);
  EXPECT_EQ(resolved.file_system, kvdyno::FileSystem::Posix());
}

TEST(ResolveOptions, AutomaticValuesAt16GiB) {
  const Options resolved = Resolve({}, 16 * kGiB);
  EXPECT_EQ(resolved.memory_budget, 15 * kGiB);
  EXPECT_EQ(resolved.stage_size, 128 * kMiB) << "at most that";
  EXPECT_EQ(resolved.chunk_size, 8 * kMiB) << "at most that";
  EXPECT_EQ(resolved.log_limit, 8 * kMiB);
  EXPECT_EQ(resolved.munk_log_limit, 80 * kMiB);
}

TEST(ResolveOptions, BetweenTheLimitsSizesFollowTheCap) {
  const Options resolved = Resolve({}, 512 * kMiB);
  EXPECT_EQ(resolved.stage_size, 16 * kMiB);
  EXPECT_EQ(resolved.chunk_size, 4 * kMiB);
  EXPECT_EQ(Resolve({}, 128 * kMiB).memory_budget, 116 * kMiB) << "all but 12 MiB";
  const Options small = Resolve({}, 80 * kMiB);
  EXPECT_EQ(small.memory_budget, 70 * kMiB) << "seven eighths";
  EXPECT_EQ(small.stage_size, 70 * kMiB / 30 / 4096 * 4096);
  EXPECT_EQ(small.chunk_size, 70 * kMiB / 120);
}

TEST(ResolveOptions, AGivenBudgetStandsForTheCap) {
  Options given;
  given.memory_budget = 480 * kMiB;
  const Options resolved = Resolve(given, 256 * kMiB);
  EXPECT_EQ(resolved.memory_budget, 480 * kMiB);
  EXPECT_EQ(resolved.stage_size, 16 * kMiB);
  EXPECT_EQ(resolved.chunk_size, 4 * kMiB);
}

TEST(ResolveOptions, LimitsFollowAGivenChunkSize) {
  Options given;
  given.chunk_size = 100'000;
  EXPECT_EQ(Resolve(given, kGiB).log_limit, 100'000U);
  EXPECT_EQ(Resolve(given, kGiB).munk_log_limit, 1'000'000U);
  given.log_limit = 5000;
  EXPECT_EQ(Resolve(given, kGiB).log_limit, 5000U);
  EXPECT_EQ(Resolve(given, kGiB).munk_log_limit, 1'000'000U);
}

TEST(ResolveOptions, StagesAreWholePages) {
  Options given;
  given.stage_size = 70'000;
  EXPECT_EQ(Resolve(given, kGiB).stage_size, 69'632U);
}

TEST(ResolveOptions, OpensAlsoUnderATinyCap) {
  EXPECT_EQ(Resolve({}, 0).memory_budget, 32 * kMiB);
  EXPECT_EQ(Resolve({}, 5 * kMiB).memory_budget, 32 * kMiB);
}

TEST(ResolveOptions, FixedSizesMustFitTheBudget) {
  Options given;
  given.memory_budget = 64 * kMiB;
  given.stage_size = 8 * kMiB;
  given.munk_cache_size = 8 * kMiB;
  given.row_cache_size = 8 * kMiB;
  given.block_cache_size = 8 * kMiB;
  Resolve(given, 0);  // 16 MiB are the process's
  given.block_cache_size = 8 * kMiB + 1;
  Options resolved;
  const Status status = ResolveOptions(given, 0, &resolved);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  for (const char* part : {"option memory_budget", "expected at least", "three stages",
                           "16MiB for the process", "got 64"}) {
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  }
  // No sum overflows.
  given.munk_cache_size = given.row_cache_size = given.block_cache_size = Options::kAdaptive - 1;
  EXPECT_EQ(ResolveOptions(given, 0, &resolved).code(), Code::kInvalidArgument);
  given.munk_cache_size = given.row_cache_size = given.block_cache_size = Options::kAdaptive;
  Resolve(given, 0);
  given.stage_size = 17 * kMiB;
  EXPECT_EQ(ResolveOptions(given, 0, &resolved).code(), Code::kInvalidArgument);
}

TEST(MemoryCap, IsPlausible) {
  EXPECT_GE(MemoryCap(), 16 * kMiB);
  EXPECT_LT(MemoryCap(), uint64_t{1} << 50);
}

}  // namespace
}  // namespace chunkstore
