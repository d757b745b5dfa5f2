// A store's life: making, opening, refusing, closing, and what is there after a process or the
// power died.
#include "entry/entry.h"
#include "manifest/manifest.h"
#include "store/store_fixture.h"

namespace chunkstore {
namespace {

class OpenTest : public StoreTest {
 protected:
  void ExpectRefused(const std::string& part) {
    const Status status = TryOpen();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.ToString();
    EXPECT_NE(status.message().find(part), std::string::npos) << status.ToString();
    EXPECT_EQ(store_, nullptr);
  }
};

TEST_F(OpenTest, MakesAStoreOnlyIfAsked) {
  options_.create_if_missing = false;
  EXPECT_EQ(TryOpen().code(), Code::kIoError) << "no such directory";
  ASSERT_TRUE(IsOk(files_.CreateDirectory(kDirectory)));
  ExpectRefused("create_if_missing");
  options_.read_only = true;
  ExpectRefused("read-only");
  options_.read_only = false;
  options_.create_if_missing = true;
  Open();
  Put("a", "1");
  options_.create_if_missing = false;
  Reopen();
  ExpectAll();
}

TEST_F(OpenTest, RefusesAnExistingStoreIfAsked) {
  options_.error_if_exists = true;
  Open();
  Put("a", "1");
  ASSERT_TRUE(IsOk(store_->Close()));
  ExpectRefused("error_if_exists");
  options_.error_if_exists = false;
  Open();
  ExpectAll();
}

TEST_F(OpenTest, RefusesOptionsOutOfRange) {
  options_.block_size = 1;
  ExpectRefused("option block_size");
  EXPECT_FALSE(files_.Exists("/store"));
}

TEST_F(OpenTest, ReturnsTheOptionsInForce) {
  options_.chunk_size = Options::kAuto;
  Open();
  EXPECT_EQ(store_->options().chunk_size, Options::kLeastBudget / 120);
  EXPECT_EQ(store_->options().stage_size, options_.stage_size);
}

TEST_F(OpenTest, IsBusyWhileOpen) {
  Open();
  std::unique_ptr<Store> second;
  EXPECT_EQ(Store::Open(options_, kDirectory, &second).code(), Code::kBusy);
  EXPECT_EQ(second, nullptr);
  EXPECT_EQ(Store::Destroy(options_, kDirectory).code(), Code::kBusy);
  CheckReport report;
  EXPECT_EQ(Store::Repair(options_, kDirectory, &report).code(), Code::kBusy);
  ASSERT_TRUE(IsOk(store_->Close()));
  EXPECT_TRUE(IsOk(Store::Open(options_, kDirectory, &second))) << "closing frees the directory";
}

TEST_F(OpenTest, EveryCallIsRefusedAfterClose) {
  Open();
  Put("a", "1");
  ASSERT_TRUE(IsOk(store_->Close()));
  EXPECT_TRUE(IsOk(store_->Close())) << "closing again is Ok and does nothing";
  WriteBatch batch;
  batch.Put("b", "2");
  std::string value;
  std::vector<std::string> values;
  std::vector<Status> statuses;
  CheckReport report;
  const auto row = [](std::string_view, std::string_view) { return true; };
  ScanOptions backwards;
  backwards.reverse = true;
  store_->MultiGet({}, {"a", "b"}, &values, &statuses);
  ASSERT_EQ(statuses.size(), 2U);
  for (const Status& status :
       {store_->Put("b", "2"), store_->Delete("a"), store_->Write(batch), store_->Get("a", &value),
        statuses[0], statuses[1], store_->Scan({}, row), store_->Scan(backwards, row),
        store_->Checkpoint(), store_->Flush(), store_->Compact(),
        store_->VerifyChecksums(&report)}) {
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.ToString();
    EXPECT_NE(status.message().find("closed"), std::string::npos) << status.ToString();
  }
}

TEST_F(OpenTest, DestructionCloses) {
  Open();
  PutMany(0, 100, 50);
  store_.reset();
  Open();
  EXPECT_TRUE(store_->recovery().clean);
  EXPECT_EQ(store_->recovery().recovered_records, 0U);
  ExpectAll();
}

TEST_F(OpenTest, ReadOnlySeesWhatWasNotFlushed) {
  Open();
  PutMany(0, 500, 50);
  ASSERT_TRUE(IsOk(store_->Flush()));
  PutMany(400, 700, 60, 'w');
  Delete(KeyOf(1));
  Die(Loss::kKeepAll);
  options_.read_only = true;
  files_.SetReadOnly(true);
  const uint64_t calls = files_.modifying_calls();
  Open();
  EXPECT_FALSE(store_->recovery().clean);
  EXPECT_GT(store_->recovery().recovered_records, 0U);
  ExpectAll();
  auto iterator = store_->NewIterator({});
  iterator->SeekToLast();
  ASSERT_TRUE(iterator->Valid());
  EXPECT_EQ(iterator->key(), KeyOf(699));
  iterator.reset();
  CheckReport report;
  EXPECT_TRUE(IsOk(store_->VerifyChecksums(&report)));
  EXPECT_TRUE(report.problems.empty());
  EXPECT_FALSE(store_->GetStatistics().empty());
  WriteBatch batch;
  batch.Put("b", "2");
  for (const Status& status : {store_->Put("b", "2"), store_->Delete("a"), store_->Write(batch),
                               store_->Checkpoint(), store_->Flush(), store_->Compact()}) {
    EXPECT_EQ(status.code(), Code::kReadOnly) << status.ToString();
  }
  EXPECT_TRUE(IsOk(store_->Close()));
  store_.reset();
  EXPECT_EQ(files_.modifying_calls(), calls) << "not a byte is written";
  // Nothing is used up by looking.
  files_.SetReadOnly(false);
  options_.read_only = false;
  Open();
  ExpectAll();
}

// A writer takes away files that the other still reads: the one open alone, or any number to read.
TEST_F(OpenTest, AWriterAndReadersKeepEachOtherOut) {
  Open();
  Put("a", "1");
  Options reading = options_;
  reading.read_only = true;
  std::unique_ptr<Store> readers[2];
  EXPECT_EQ(Store::Open(reading, kDirectory, &readers[0]).code(), Code::kBusy);
  Put("b", "2");
  ASSERT_TRUE(IsOk(store_->Close()));
  for (auto& reader : readers) {
    ASSERT_TRUE(IsOk(Store::Open(reading, kDirectory, &reader)));
    std::string value;
    EXPECT_TRUE(IsOk(reader->Get("b", &value)));
  }
  EXPECT_EQ(TryOpen().code(), Code::kBusy);
  readers[0].reset();
  EXPECT_EQ(TryOpen().code(), Code::kBusy) << "one is left";
  readers[1].reset();
  Open();
  ExpectAll();
}

// What was synced is gone with the file, and nothing else shows it.
TEST_F(OpenTest, MissesTheStageThatWasInUse) {
  const std::string ring = std::string(kDirectory) + "/ring-0";
  const auto expect_damage = [&] {
    const Status status = TryOpen();
    EXPECT_EQ(status.code(), Code::kCorruption) << status.ToString();
    EXPECT_NE(status.message().find("expected stage"), std::string::npos) << status.ToString();
  };
  for (const bool remove : {false, true}) {
    Open();
    Put("flushed", "1");
    ASSERT_TRUE(IsOk(store_->Close()));
    Open();
    Put("synced", "2");
    ASSERT_TRUE(IsOk(store_->Checkpoint()));
    Die(Loss::kDropAll);
    ASSERT_TRUE(IsOk(remove ? files_.Remove(ring) : files_.Truncate(ring, 0)));
    expect_damage();
    options_.read_only = true;
    expect_damage();
    options_.read_only = false;
    CheckReport report;
    ASSERT_TRUE(IsOk(Store::Repair(options_, kDirectory, &report)));
    EXPECT_FALSE(report.problems.empty());
    rows_.erase("synced");
    Open();
    ExpectAll();
    store_.reset();
    ASSERT_TRUE(IsOk(Store::Destroy(options_, kDirectory)));
    rows_.clear();
  }
}

TEST_F(OpenTest, AStageOfAnotherSizeThatHoldsNothingIsNotMissed) {
  Open();
  Put("a", "1");
  ASSERT_TRUE(IsOk(store_->Flush()));
  Die(Loss::kKeepAll);
  options_.stage_size *= 2;
  for (int i = 0; i < 3; ++i) {
    Open();
    Die(Loss::kDropAll);
  }
  Open();
  ExpectAll();
}

TEST_F(OpenTest, AMissingFileIsNoMissingKey) {
  options_.block_cache_size = options_.row_cache_size = options_.munk_cache_size = 0;
  Open();
  PutMany(0, 500, 100);
  ASSERT_TRUE(IsOk(store_->Compact()));
  Reopen();
  std::vector<std::string> names;
  ASSERT_TRUE(IsOk(files_.List(kDirectory, &names)));
  for (const std::string& name : names) {
    if (!name.starts_with("segment-")) continue;
    ASSERT_TRUE(IsOk(files_.Remove(std::string(kDirectory) + "/" + name)));
  }
  std::string value;
  EXPECT_EQ(store_->Get(KeyOf(7), &value).code(), Code::kIoError);
  const auto row = [](std::string_view, std::string_view) { return true; };
  EXPECT_EQ(store_->Scan({}, row).code(), Code::kIoError);
  const auto iterator = store_->NewIterator({});
  iterator->Seek(KeyOf(7));
  EXPECT_EQ(iterator->status().code(), Code::kIoError);
}

TEST_F(OpenTest, ReportsWhatItRecovered) {
  Open();
  EXPECT_TRUE(store_->recovery().clean);
  PutMany(0, 10, 50);
  WriteBatch batch;
  batch.Put("b", "2");
  batch.Put("c", "3");
  rows_["b"] = "2";
  rows_["c"] = "3";
  ASSERT_TRUE(IsOk(store_->Write(batch)));
  Die(Loss::kKeepAll);
  Open();
  const RecoveryReport& report = store_->recovery();
  EXPECT_FALSE(report.clean);
  EXPECT_EQ(report.recovered_records, 11U) << "a batch is one record";
  EXPECT_GT(report.recovered_bytes, 500U);
  EXPECT_EQ(report.dropped_bytes, 0U) << "0 after a mere kill";
  EXPECT_EQ(report.dropped_reason, "");
  EXPECT_GE(report.seconds, 0);
  std::string text;
  ASSERT_TRUE(store_->GetProperty("recovery", &text));
  EXPECT_NE(text.find("not closed properly, recovered 11 records"), std::string::npos) << text;
  ExpectAll();
  Reopen();
  EXPECT_TRUE(store_->recovery().clean);
  EXPECT_EQ(store_->recovery().recovered_records, 0U);
  ExpectAll();
}

// Each end without a close begins an epoch; versions never go back.
TEST_F(OpenTest, AHundredEndsWithoutClose) {
  Version last = 0;
  for (int cycle = 0; cycle < 100; ++cycle) {
    SCOPED_TRACE("cycle " + std::to_string(cycle));
    Open();
    EXPECT_EQ(store_->recovery().clean, cycle == 0);
    EXPECT_EQ(store_->recovery().dropped_bytes, 0U);
    const Version now = store_->GetSnapshot()->version();
    if (cycle > 0) {
      EXPECT_GT(EpochOf(now), EpochOf(last));
    }
    EXPECT_GE(NumberOf(now), NumberOf(last));
    ASSERT_TRUE(ScanAll() == rows_);
    // Some do not write at all, some more than a stage.
    for (int i = 0; i < (cycle % 10 == 9 ? 400 : cycle % 4); ++i) {
      Put(KeyOf(cycle * 7 + i), std::string(200, static_cast<char>('a' + cycle % 26)));
    }
    if (cycle > 0) Delete(KeyOf(cycle * 3));
    last = store_->GetSnapshot()->version();
    Die(Loss::kKeepAll);
  }
  Open();
  ExpectAll();
}

TEST_F(OpenTest, AfterTheLastEpochARepairIsNeeded) {
  Open();
  PutMany(0, 300, 50);
  ASSERT_TRUE(IsOk(store_->Close()));
  store_.reset();
  std::unique_ptr<Manifest> manifest;
  ASSERT_TRUE(IsOk(Manifest::Open(&files_, kDirectory, true, &manifest)));
  ManifestState state = manifest->state();
  state.epoch = kMaxEpoch;
  ASSERT_TRUE(IsOk(Manifest::Replace(&files_, kDirectory, state, &manifest)));
  Open();  // it was closed: no new epoch is needed
  PutMany(200, 400, 60, 'w');
  Die(Loss::kKeepAll);
  const Status refused = TryOpen();
  EXPECT_EQ(refused.code(), Code::kReadOnly) << refused.ToString();
  EXPECT_NE(refused.message().find("expected at most 65535 openings after an unclean end"),
            std::string::npos)
      << refused.ToString();
  EXPECT_NE(refused.message().find("Repair"), std::string::npos) << refused.ToString();
  options_.read_only = true;
  Open();
  ExpectAll();
  store_.reset();
  options_.read_only = false;
  CheckReport report;
  ASSERT_TRUE(IsOk(Store::Repair(options_, kDirectory, &report)));
  Open();
  ExpectAll();
  EXPECT_EQ(EpochOf(store_->GetSnapshot()->version()), 1U);
  PutMany(300, 500, 70, 'x');
  Die(Loss::kKeepAll);
  Open();
  EXPECT_EQ(EpochOf(store_->GetSnapshot()->version()), 2U);
  ExpectAll();
}

TEST_F(OpenTest, CheckpointSurvivesThePowerInEachMode) {
  for (const Durability durability : {Durability::kNone, Durability::kAsync, Durability::kSync}) {
    SCOPED_TRACE(static_cast<int>(durability));
    options_.durability = durability;
    Open();
    PutMany(0, 300, 80, static_cast<char>('a' + static_cast<int>(durability)));
    ASSERT_TRUE(IsOk(store_->Checkpoint()));
    if (durability == Durability::kNone) {
      EXPECT_EQ(Stat("checkpoints"), 0);
    } else {
      EXPECT_GT(Stat("checkpoints"), 0);
    }
    ASSERT_TRUE(IsOk(store_->Put("later", "1")));
    Die(Loss::kDropAll);
    Open();
    if (durability == Durability::kSync) {
      EXPECT_EQ(Get("later"), "1") << "durable without a checkpoint";
      Delete("later");
    } else {
      EXPECT_EQ(Get("later"), "not found");
    }
    ExpectAll();
    ASSERT_TRUE(IsOk(store_->Close()));
    store_.reset();
  }
}

TEST_F(OpenTest, AProcessDeathLosesNothingButWithoutDurability) {
  for (const Durability durability : {Durability::kNone, Durability::kAsync, Durability::kSync}) {
    SCOPED_TRACE(static_cast<int>(durability));
    options_.durability = durability;
    Open();
    Put("flushed", "1");
    ASSERT_TRUE(IsOk(store_->Flush()));
    ASSERT_TRUE(IsOk(store_->Put("later", "1")));
    Die(Loss::kKeepAll);
    Open();
    EXPECT_EQ(Get("flushed"), "1");
    EXPECT_EQ(Get("later"), durability == Durability::kNone ? "not found" : "1");
    ASSERT_TRUE(IsOk(store_->Delete("later")));
    ASSERT_TRUE(IsOk(store_->Close()));
    store_.reset();
  }
}

TEST_F(OpenTest, DestroyRemovesAStoreAndNothingElse) {
  Open();
  PutMany(0, 1000, 100);
  ASSERT_TRUE(IsOk(store_->Close()));
  store_.reset();
  std::unique_ptr<kvdyno::WritableFile> foreign;
  ASSERT_TRUE(IsOk(files_.Create("/store/notes.txt", false, &foreign)));
  foreign.reset();
  const Status refused = Store::Destroy(options_, kDirectory);
  EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  EXPECT_NE(refused.message().find("notes.txt"), std::string::npos) << refused.ToString();
  Open();
  ExpectAll();
  store_.reset();
  ASSERT_TRUE(IsOk(files_.Remove("/store/notes.txt")));
  ASSERT_TRUE(IsOk(Store::Destroy(options_, kDirectory)));
  std::vector<std::string> names;
  ASSERT_TRUE(IsOk(files_.List("/store", &names)));
  EXPECT_TRUE(names.empty()) << names.front();
  Open();
  EXPECT_TRUE(ScanAll().empty());
}

TEST_F(OpenTest, DestroyRemovesWhatRepairsPutAside) {
  for (const char* folder : {"/store/lost", "/store/lost-2"}) {
    Open();
    PutMany(0, 1000, 100);
    ASSERT_TRUE(IsOk(store_->Close()));
    store_.reset();
    ASSERT_TRUE(IsOk(files_.Remove("/store/CURRENT")));
    CheckReport report;
    ASSERT_TRUE(IsOk(Store::Repair(options_, kDirectory, &report)));
    ASSERT_TRUE(files_.Exists(folder));
  }
  std::unique_ptr<kvdyno::WritableFile> foreign;
  ASSERT_TRUE(IsOk(files_.Create("/store/lost/notes.txt", false, &foreign)));
  foreign.reset();
  const Status refused = Store::Destroy(options_, kDirectory);
  EXPECT_NE(
      refused.message().find("destroy /store/lost: expected a store's files alone, got notes"),
      std::string::npos)
      << refused.ToString();
  Open();
  ExpectAll();
  store_.reset();
  ASSERT_TRUE(IsOk(files_.Remove("/store/lost/notes.txt")));
  ASSERT_TRUE(IsOk(Store::Destroy(options_, kDirectory)));
  std::vector<std::string> names;
  ASSERT_TRUE(IsOk(files_.List(kDirectory, &names)));
  EXPECT_TRUE(names.empty()) << names.front();
}

TEST_F(OpenTest, RepairLeavesASoundStoreAlone) {
  Open();
  PutMany(0, 1000, 100);
  ASSERT_TRUE(IsOk(store_->Close()));
  store_.reset();
  CheckReport report;
  ASSERT_TRUE(IsOk(Store::Repair(options_, kDirectory, &report)));
  EXPECT_TRUE(report.problems.empty());
  EXPECT_EQ(report.entries, rows_.size());
  Open();
  EXPECT_TRUE(store_->recovery().clean);
  ExpectAll();
}

}  // namespace
}  // namespace chunkstore
