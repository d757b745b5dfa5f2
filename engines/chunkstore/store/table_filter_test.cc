// The Bloom filters of tables: what they save, and what memory they may take.
#include "store/store_fixture.h"

namespace chunkstore {
namespace {

using TableFilterTest = StoreTest;

TEST_F(TableFilterTest, SavesTheReadsOfAbsentKeys) {
  options_.munk_cache_size = options_.row_cache_size = options_.block_cache_size = 0;
  for (const double bits : {10.0, 0.0}) {
    options_.table_filter_bits = bits;
    Open();
    PutMany(0, 600, 300, bits > 0 ? 'f' : 'n');
    ASSERT_TRUE(IsOk(store_->Compact()));
    Reopen();
    ExpectAll();  // and all indexes are loaded
    const double reads = Stat("read_calls");
    std::vector<std::string> names;
    for (int i = 0; i < 500; ++i) names.push_back(KeyOf(i) + "x");
    for (const std::string& name : names) EXPECT_EQ(Get(name), "not found");
    EXPECT_EQ(Stat("absent_gets"), 500);
    // A few lie between two tables.
    EXPECT_LE(Stat("read_calls") - reads, 500 - Stat("filtered_gets"));
    EXPECT_EQ(Stat("filtered_gets") > 450, bits > 0);
    EXPECT_EQ(Stat("read_calls") - reads < 50, bits > 0);
    const std::vector<std::string_view> keys(names.begin(), names.end());
    std::vector<std::string> values;
    std::vector<Status> statuses;
    store_->MultiGet({}, keys, &values, &statuses);
    for (const Status& status : statuses) EXPECT_TRUE(status.not_found());
    EXPECT_LE(Stat("read_calls") - reads, 1000 - Stat("filtered_gets"));
  }
}

// Rows so small that filters of all tables would take more than the least budget allows.
TEST_F(TableFilterTest, TakesAnEighthOfTheBudget) {
  options_.table_filter_bits = 32;
  options_.munk_cache_size = 0;
  options_.chunk_size = options_.stage_size = 1 << 20;
  double index_bytes[2] = {};
  for (const size_t larger : {0, 1}) {
    options_.memory_budget = (larger + 1) * Options::kLeastBudget;
    std::unique_ptr<Store> store;
    ASSERT_TRUE(IsOk(Store::Open(options_, larger == 0 ? "/small" : "/large", &store)));
    const auto survey = [&] {  // which follows some rounds of work
      for (int i = 0; i < 16; ++i) {
        ASSERT_TRUE(IsOk(store->Put("key", "")));
        ASSERT_TRUE(IsOk(store->Flush()));
      }
    };
    WriteBatch batch;
    for (int i = 0; i < 1'700'000; ++i) {
      batch.Put(KeyOf(i), "");
      if (i % 1000 != 999) continue;
      ASSERT_TRUE(IsOk(store->Write(batch)));
      batch.Clear();
    }
    survey();
    ASSERT_TRUE(IsOk(store->Compact()));
    survey();
    for (const Statistic& statistic : store->GetStatistics()) {
      if (statistic.name == "index_bytes") index_bytes[larger] = statistic.value;
    }
  }
  // The larger one's filters take 4 bytes a row, 6.8 MB.
  EXPECT_GT(index_bytes[1], 6.8e6);
  EXPECT_LT(index_bytes[0], index_bytes[1] - 1e6);
}

}  // namespace
}  // namespace chunkstore
