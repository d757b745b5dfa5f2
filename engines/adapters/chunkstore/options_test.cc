// The options reach the store's struct, and bear the names that its C interface gives them.
#include "options.h"

#include <chunkstore/c.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <utility>

#include "kvdyno/api/adapter.h"

namespace kvdyno::chunks {
namespace {

constexpr uint64_t kCap = 256 * kMiB;

class ChunkOptions : public testing::Test {
 protected:
  ChunkOptions() { options_.Describe(&table_); }

  void Set(std::initializer_list<std::pair<const char*, const char*>> settings) {
    for (const auto& [name, text] : settings) {
      const Status set = table_.Set(name, text);
      EXPECT_TRUE(set.ok()) << set.ToString();
    }
  }

  Options options_;
  OptionTable table_;
};

TEST_F(ChunkOptions, DefaultsAreTheStoresOwn) {
  const chunkstore::Options expected;
  const chunkstore::Options resolved = options_.Resolved(false, 0);
  EXPECT_EQ(resolved.durability, expected.durability);
  EXPECT_EQ(resolved.log_lookup, expected.log_lookup);
  EXPECT_EQ(resolved.memory_budget, expected.memory_budget);
  EXPECT_EQ(resolved.munk_cache_size, expected.munk_cache_size);
  EXPECT_EQ(resolved.bloom_split, expected.bloom_split);
  EXPECT_EQ(resolved.max_open_files, expected.max_open_files);
  EXPECT_EQ(resolved.background_threads, expected.background_threads);
}

TEST_F(ChunkOptions, BudgetFollowsTheCapUnlessItIsSet) {
  EXPECT_EQ(options_.Resolved(false, kCap).memory_budget, 240 * kMiB);
  Set({{"memory_budget", "100MiB"}});
  EXPECT_EQ(options_.Resolved(false, kCap).memory_budget, 100 * kMiB);
}

TEST_F(ChunkOptions, SyncOfTheDriverWins) {
  Set({{"durability", "none"}});
  EXPECT_EQ(options_.Resolved(false, 0).durability, chunkstore::Durability::kNone);
  EXPECT_EQ(options_.Resolved(true, 0).durability, chunkstore::Durability::kSync);
}

TEST_F(ChunkOptions, ReachTheStruct) {
  Set({{"munk_cache_size", "8GiB"},
       {"row_cache_size", "0"},
       {"chunk_size", "10MiB"},
       {"log_lookup", "bloom"},
       {"bloom_split", "4"},
       {"bloom_bits", "12.5"},
       {"table_filter_bits", "8"},
       {"log_limit", "2MiB"},
       {"direct_io", "false"},
       {"checkpoint_interval", "500ms"},
       {"max_open_files", "100"},
       {"background_threads", "2"}});
  const chunkstore::Options resolved = options_.Resolved(false, 0);
  EXPECT_EQ(resolved.munk_cache_size, 8 * kGiB);
  EXPECT_EQ(resolved.row_cache_size, 0u);
  EXPECT_EQ(resolved.block_cache_size, chunkstore::Options::kAdaptive);
  EXPECT_EQ(resolved.chunk_size, 10 * kMiB);
  EXPECT_EQ(resolved.log_lookup, chunkstore::LogLookup::kBloom);
  EXPECT_EQ(resolved.bloom_split, 4);
  EXPECT_EQ(resolved.bloom_bits, 12.5);
  EXPECT_EQ(resolved.table_filter_bits, 8);
  EXPECT_EQ(resolved.log_limit, 2 * kMiB);
  EXPECT_EQ(resolved.munk_log_limit, chunkstore::Options::kAuto);
  EXPECT_FALSE(resolved.direct_io);
  EXPECT_EQ(resolved.checkpoint_interval_s, 0.5);
  EXPECT_EQ(resolved.max_open_files, 100u);
  EXPECT_EQ(resolved.background_threads, 2);
}

// All but the interval, which has a unit here and its unit in its name there.
TEST_F(ChunkOptions, BearTheNamesOfTheStruct) {
  chunkstore_options* c = chunkstore_options_new();
  for (const OptionDescriptor& option : table_.descriptors()) {
    if (option.name == "checkpoint_interval") continue;
    char* text = chunkstore_options_get(c, option.name.c_str());
    EXPECT_STREQ(text, option.default_text.c_str()) << option.name;
    chunkstore_free(text);
  }
  chunkstore_options_free(c);
}

TEST(ChunkDurability, IsThatOfTheOptionsInForce) {
  const std::unique_ptr<Adapter> adapter = MakeAdapter();
  const auto word = adapter->durability(false);
  EXPECT_TRUE(word->survives_process);
  EXPECT_FALSE(word->survives_power);
  EXPECT_EQ(word->power_loss_seconds, 1.0);
  EXPECT_TRUE(word->consistent_prefix);
  ASSERT_TRUE(adapter->options().Set("checkpoint_interval", "250ms").ok());
  EXPECT_EQ(adapter->durability(false)->power_loss_seconds, 0.25);
  EXPECT_EQ(adapter->durability(true)->power_loss_seconds, 0.0);
  ASSERT_TRUE(adapter->options().Set("durability", "none").ok());
  EXPECT_FALSE(adapter->durability(false)->survives_process);
  EXPECT_EQ(adapter->durability(false)->power_loss_seconds, std::nullopt);
}

}  // namespace
}  // namespace kvdyno::chunks
