// What a RocksDB store owes, and what its writes survive.
#include <rocksdb/db.h>

#include "family_test.h"
#include "levels.h"

namespace kvdyno {

namespace {

class RocksDebt : public FamilyTest {
 protected:
  void Fill(int keys) {
    const std::unique_ptr<Session> session = adapter_->NewSession();
    for (int i = 0; i < keys; i++) {
      ASSERT_TRUE(session->Put(std::to_string(i * 7919 % keys), std::string(1000, 'v')).ok());
    }
  }
};

TEST_F(RocksDebt, IsTheMemtableUntilItIsFlushed) {
  ASSERT_TRUE(Open({}).ok());
  EXPECT_EQ(adapter_->Debt(), 0u) << "an empty memtable takes memory, and owes nothing";
  Fill(1000);
  EXPECT_GE(*adapter_->Debt(), 1'000'000u);
  EXPECT_LE(*adapter_->Debt(), 3'000'000u);
  ASSERT_TRUE(adapter_->Settle(std::nullopt).ok());
  EXPECT_EQ(adapter_->Debt(), 0u) << "one file in level 0 is below RocksDB's trigger";
  ASSERT_TRUE(adapter_->Close().ok());
}

TEST_F(RocksDebt, HoldsLevel0OnceThatIsDue) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.disable_auto_compactions = true;  // what is due stays
  options.compression = rocksdb::kNoCompression;
  options.level0_file_num_compaction_trigger = 2;
  rocksdb::DB* opened = nullptr;
  ASSERT_TRUE(rocksdb::DB::Open(options, directory_, &opened).ok());
  const std::unique_ptr<rocksdb::DB> db(opened);
  for (uint64_t files = 1; files <= 3; files++) {
    ASSERT_TRUE(db->Put({}, "key", std::string(100'000, 'v')).ok());
    ASSERT_TRUE(db->Flush({}).ok());
    if (files == 1) {
      EXPECT_EQ(rocks::DebtOf(db.get()), 0u);
    } else {
      EXPECT_GE(rocks::DebtOf(db.get()), files * 100'000);
      EXPECT_LE(rocks::DebtOf(db.get()), files * 110'000) << "and is not counted twice";
    }
  }
}

class RocksDurability : public FamilyTest {};

TEST_F(RocksDurability, IsThatOfTheLog) {
  const std::optional<Durability> unsynced = adapter_->durability(false);
  ASSERT_TRUE(unsynced);
  EXPECT_TRUE(unsynced->survives_process);
  EXPECT_FALSE(unsynced->survives_power);
  EXPECT_EQ(unsynced->power_loss_seconds, std::nullopt);
  EXPECT_TRUE(unsynced->consistent_prefix) << "point-in-time recovery is the default";
  const std::optional<Durability> synced = adapter_->durability(true);
  EXPECT_TRUE(synced->survives_power);
  EXPECT_EQ(synced->power_loss_seconds, 0.0);
}

TEST_F(RocksDurability, FollowsAnOptionFile) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.manual_wal_flush = true;
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords;
  rocksdb::DB* db = nullptr;
  ASSERT_TRUE(rocksdb::DB::Open(options, directory_, &db).ok());
  delete db;
  std::string file;
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    if (entry.path().filename().string().starts_with("OPTIONS-")) file = entry.path();
  }
  ASSERT_TRUE(adapter_->options().Set("optionsfile", file).ok());
  const std::optional<Durability> durability = adapter_->durability(false);
  ASSERT_TRUE(durability);
  EXPECT_FALSE(durability->survives_process) << "the log waits in the process's buffer";
  EXPECT_FALSE(durability->consistent_prefix);
  ASSERT_TRUE(adapter_->options().Set("optionsfile", "/nowhere").ok());
  EXPECT_FALSE(adapter_->durability(false).has_value());
}

}  // namespace

}  // namespace kvdyno
