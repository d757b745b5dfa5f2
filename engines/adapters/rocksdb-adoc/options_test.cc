// What the options make of a store, and what cannot be.
#include "options.h"

#include <gtest/gtest.h>

#include <utility>

namespace kvdyno::adoc {

namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kGiB = uint64_t{1} << 30;

class AdocOptions : public ::testing::Test {
 protected:
  AdocOptions() { options_.Describe(&table_); }

  void Set(const std::string& name, const std::string& text) {
    const Status set = table_.Set(name, text);
    ASSERT_TRUE(set.ok()) << set.ToString();
  }

  Status Resolve(uint64_t cap = 0) { return options_.Resolve(store_, cap, &limits_); }

  // Refused, naming the option and what is wanted.
  void ExpectImpossible(const std::string& option, const std::string& wanted, uint64_t cap = 0) {
    const Status status = Resolve(cap);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_NE(status.message().find("option " + option + ":"), std::string::npos)
        << status.message();
    EXPECT_NE(status.message().find(wanted), std::string::npos) << status.message();
  }

  Options options_;
  OptionTable table_;
  rocksdb::Options store_;
  tuners::AdocLimits limits_;
};

TEST_F(AdocOptions, LimitsAreThePapersAndTheStores) {
  Set("threads_max", "20");
  ASSERT_TRUE(Resolve(16 * kGiB).ok());
  EXPECT_EQ(limits_.level0_slowdown_files, 20u);
  EXPECT_EQ(limits_.soft_pending_bytes, 64 * kGiB);
  EXPECT_EQ(limits_.threads_min, 2);
  EXPECT_EQ(limits_.threads_max, 20);
  EXPECT_EQ(limits_.batch_min, 64 * kMiB);
  EXPECT_EQ(limits_.batch_max, 512 * kMiB);
  EXPECT_EQ(limits_.batch_step, 64 * kMiB);
}

TEST_F(AdocOptions, ThreadsGoAsFarAsCoresButNotBelowTheirMinimum) {
  Set("threads_min", "200");
  store_.max_background_jobs = 200;
  ASSERT_TRUE(Resolve().ok());
  EXPECT_GE(limits_.threads_max, 200);
}

TEST_F(AdocOptions, NoSlowdownAtLevel0IsNoOverflow) {
  store_.level0_slowdown_writes_trigger = -1;
  ASSERT_TRUE(Resolve().ok());
  EXPECT_EQ(limits_.level0_slowdown_files, UINT64_MAX);
}

TEST_F(AdocOptions, EveryModeIsOne) {
  for (const auto& [name, mode] :
       {std::pair{"paper", tuners::AdocMode::kPaper}, std::pair{"fork", tuners::AdocMode::kFork},
        std::pair{"threads-only", tuners::AdocMode::kThreadsOnly},
        std::pair{"batch-only", tuners::AdocMode::kBatchOnly},
        std::pair{"plus", tuners::AdocMode::kPlus}}) {
    Set("mode", name);
    EXPECT_EQ(options_.Mode(), mode) << name;
  }
}

TEST_F(AdocOptions, ThreadsBelowTwoAreRefused) {
  EXPECT_EQ(table_.Set("threads_min", "1").code(), Code::kInvalidArgument);
  store_.max_background_jobs = 1;
  ExpectImpossible("max_background_jobs", "threads_min to threads_max, 2 to ");
}

TEST_F(AdocOptions, ThreadBoundsThatExcludeEachOtherAreRefused) {
  Set("threads_min", "8");
  Set("threads_max", "4");
  ExpectImpossible("threads_max", "at least threads_min, 8, got 4");
}

TEST_F(AdocOptions, AStoreBeyondTheThreadsIsRefused) {
  Set("threads_max", "8");
  store_.max_background_jobs = 16;
  ExpectImpossible("max_background_jobs", "2 to 8, got 16");
}

// RocksDB then gives flushes and compactions what these say, whatever the tuner sets.
TEST_F(AdocOptions, LegacyThreadOptionsAreRefused) {
  store_.max_background_flushes = 1;
  ExpectImpossible("optionsfile", "max_background_jobs alone");
}

TEST_F(AdocOptions, BatchBoundsThatExcludeEachOtherAreRefused) {
  Set("batch_max", "32MiB");
  ExpectImpossible("batch_max", "at least batch_min, 64MiB, got 32MiB");
}

TEST_F(AdocOptions, AStoreBeyondTheBatchIsRefused) {
  store_.write_buffer_size = 32 * kMiB;
  ExpectImpossible("write_buffer_size", "64MiB to 512MiB, got 32MiB");
}

TEST_F(AdocOptions, MemtablesBeyondTheCapAreRefused) {
  EXPECT_TRUE(Resolve(1024 * kMiB).ok());
  ExpectImpossible("batch_max", "at most 256MiB, so that 2 memtables fit the memory cap of 512MiB",
                   512 * kMiB);
}

}  // namespace

}  // namespace kvdyno::adoc
