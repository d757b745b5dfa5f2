// The engine as the driver uses it: impossible options, the off switch, closing while work is held.
#include "../rocksdb/family_test.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "kvdyno/api/adapter.h"

namespace kvdyno {

namespace {

using SilkEngine = FamilyTest;

TEST_F(SilkEngine, ImpossibleOptionsRefuseToOpen) {
  const Status opened = Open({{"bandwidth", "1MiB"}, {"compaction_bandwidth", "2MiB"}});
  EXPECT_EQ(opened.code(), Code::kInvalidArgument);
  EXPECT_TRUE(adapter_->Close().ok());
}

TEST_F(SilkEngine, SwitchedOffItIsRocksDb) {
  ASSERT_TRUE(Open({{"tuning", "false"}}).ok());
  EXPECT_FALSE(Sampled().contains("tuner_rate_limit"));
  EXPECT_TRUE(adapter_->Close().ok());
}

// A bandwidth that compactions of this much data would need minutes for, and a gate that is longer
// than any test may run: only closing lets them go.
TEST_F(SilkEngine, ClosesWhileCompactionsWait) {
  ASSERT_TRUE(Open({{"bandwidth", "1MiB"},
                    {"compaction_bandwidth", "64KiB"},
                    {"peak_share", "0.01"},
                    {"gate_max", "3600"},
                    {"max_background_jobs", "4"},
                    {"write_buffer_size", "64KiB"},
                    {"target_file_size_base", "64KiB"},
                    {"max_bytes_for_level_base", "256KiB"},
                    {"max_bytes_for_level_multiplier", "2"},
                    {"level0_slowdown_writes_trigger", "10000"},
                    {"level0_stop_writes_trigger", "10000"}})
                  .ok());
  std::unique_ptr<Session> session = adapter_->NewSession();
  const std::string value(16 << 10, 'v');
  for (int i = 0; i < 1000; i++) {
    ASSERT_TRUE(session->Put("key" + std::to_string(i * 7919 % 1000), value).ok());
  }
  session.reset();
  const std::map<std::string, double> counters = Sampled();
  EXPECT_GT(counters.at("written_by_flushes"), 0);
  EXPECT_GT(counters.at("client_bytes"), 1000.0 * (16 << 10));
  EXPECT_TRUE(adapter_->Close().ok());
}

}  // namespace

}  // namespace kvdyno
