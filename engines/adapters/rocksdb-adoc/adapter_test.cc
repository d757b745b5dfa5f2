// The engine as the driver uses it: impossible options, the off switch, every mode under pressure.
#include "../rocksdb/family_test.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "kvdyno/api/adapter.h"

namespace kvdyno {

namespace {

using AdocEngine = FamilyTest;

TEST_F(AdocEngine, ImpossibleOptionsRefuseToOpen) {
  const Status opened = Open({{"batch_max", "64MiB"}}, uint64_t{64} << 20);
  EXPECT_EQ(opened.code(), Code::kInvalidArgument);
  EXPECT_NE(opened.message().find("memory cap"), std::string::npos) << opened.message();
  EXPECT_TRUE(adapter_->Close().ok());
}

TEST_F(AdocEngine, SwitchedOffItIsRocksDb) {
  // Bounds that no tuner observes are no mistake.
  ASSERT_TRUE(Open({{"tuning", "false"}, {"max_background_jobs", "1"}}).ok());
  EXPECT_FALSE(Sampled().contains("tuner_threads"));
  EXPECT_TRUE(adapter_->Close().ok());
}

class AdocUnderPressure : public AdocEngine, public ::testing::WithParamInterface<const char*> {};

// Memtables of 64 KiB and a window of a millisecond: the tuner acts all the time, and the store
// closes while background work is far behind.
TEST_P(AdocUnderPressure, WritesAndCloses) {
  ASSERT_TRUE(Open({{"mode", GetParam()},
                    {"window", "0.001"},
                    {"threads_max", "8"},
                    {"write_buffer_size", "64KiB"},
                    {"target_file_size_base", "64KiB"},
                    {"max_bytes_for_level_base", "256KiB"},
                    {"soft_pending_compaction_bytes_limit", "256KiB"},
                    {"level0_slowdown_writes_trigger", "5"},
                    {"level0_stop_writes_trigger", "6"},
                    {"batch_min", "64KiB"},
                    {"batch_max", "256KiB"},
                    {"batch_step", "64KiB"}})
                  .ok());
  std::unique_ptr<Session> session = adapter_->NewSession();
  const std::string value(16 << 10, 'v');
  for (int i = 0; i < 400; i++) {
    ASSERT_TRUE(session->Put("key" + std::to_string(i * 7919 % 400), value).ok());
  }
  session.reset();
  const std::map<std::string, double> counters = Sampled();
  EXPECT_GE(counters.at("tuner_threads"), 2);
  EXPECT_LE(counters.at("tuner_threads"), 8);
  EXPECT_GE(counters.at("tuner_batch"), 64 << 10);
  EXPECT_LE(counters.at("tuner_batch"), 256 << 10);
  EXPECT_TRUE(adapter_->Close().ok());
}

INSTANTIATE_TEST_SUITE_P(Modes, AdocUnderPressure,
                         ::testing::Values("paper", "fork", "threads-only", "batch-only", "plus"));

}  // namespace

}  // namespace kvdyno
