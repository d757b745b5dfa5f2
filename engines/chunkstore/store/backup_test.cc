// Backup: a copy that is a store of its own, made while the store goes on.
#include "store/backup.h"

#include <atomic>
#include <thread>

#include "kvdyno/base/testing/fault_file_system.h"
#include "store/store_fixture.h"

namespace chunkstore {
namespace {

using kvdyno::testing::FaultFileSystem;

constexpr const char* kCopy = "/copy";

class BackupTest : public StoreTest {
 protected:
  // Rows in tables, in logs and in the ring.
  void Fill() {
    PutMany(0, 2000, 60);
    ASSERT_TRUE(IsOk(store_->Compact()));
    PutMany(500, 900, 60, 'w');
    ASSERT_TRUE(IsOk(store_->Flush()));
    for (int i = 0; i < 2000; i += 7) Delete(KeyOf(i));
    PutMany(1990, 2010, 60, 'x');
  }
  // The copy takes the store's place.
  void OpenCopy() {
    ASSERT_TRUE(IsOk(store_->Close()));
    store_.reset();
    ASSERT_TRUE(IsOk(Store::Open(options_, kCopy, &store_)));
  }
  std::vector<std::string> NamesIn(const std::string& directory) {
    std::vector<std::string> names;
    EXPECT_TRUE(IsOk(files_.List(directory, &names)));
    return names;
  }
};

TEST_F(BackupTest, IsAStoreOfItsOwn) {
  Open();
  Fill();
  ASSERT_TRUE(IsOk(store_->Backup(kCopy)));
  const Rows before = rows_;
  for (int i = 0; i < 300; ++i) Put(KeyOf(i), "later");
  ASSERT_TRUE(IsOk(store_->Compact()));
  ExpectAll();
  OpenCopy();
  EXPECT_TRUE(store_->recovery().clean);
  ExpectRows(before);
  CheckReport report;
  ASSERT_TRUE(IsOk(store_->VerifyChecksums(&report)));
  EXPECT_TRUE(report.problems.empty()) << report.problems.front();
  // It is written to like any other.
  rows_ = before;
  PutMany(100, 400, 60, 'y');
  ASSERT_TRUE(IsOk(store_->Compact()));
  ExpectAll();
}

TEST_F(BackupTest, SurvivesThePower) {
  Open();
  Fill();
  ASSERT_TRUE(IsOk(store_->Backup(kCopy)));
  Die(Loss::kDropAll);
  ASSERT_TRUE(IsOk(Store::Open(options_, kCopy, &store_)));
  ExpectAll();
}

TEST_F(BackupTest, OfAnEmptyStoreAndOfACopy) {
  Open();
  ASSERT_TRUE(IsOk(store_->Backup(kCopy)));
  OpenCopy();
  ExpectAll();
  PutMany(0, 100, 60);
  ASSERT_TRUE(IsOk(store_->Backup("/second")));
  store_.reset();
  ASSERT_TRUE(IsOk(Store::Open(options_, "/second", &store_)));
  ExpectAll();
}

TEST_F(BackupTest, RefusesADirectoryThatHoldsAnything) {
  Open();
  PutMany(0, 10, 60);
  ASSERT_TRUE(IsOk(files_.CreateDirectory(kCopy)));
  std::unique_ptr<kvdyno::WritableFile> file;
  ASSERT_TRUE(IsOk(files_.Create(std::string(kCopy) + "/notes", false, &file)));
  const Status refused = store_->Backup(kCopy);
  EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  EXPECT_NE(refused.message().find("got notes in it"), std::string::npos) << refused.ToString();
  EXPECT_EQ(NamesIn(kCopy), std::vector<std::string>{"notes"});
  EXPECT_EQ(store_->Backup(kDirectory).code(), Code::kInvalidArgument) << "its own";
  ExpectAll();
}

TEST_F(BackupTest, RefusedByAStoreThatIsReadOnlyOrClosed) {
  Open();
  PutMany(0, 10, 60);
  ASSERT_TRUE(IsOk(store_->Close()));
  EXPECT_EQ(store_->Backup(kCopy).code(), Code::kInvalidArgument);
  options_.read_only = true;
  Open();
  EXPECT_EQ(store_->Backup(kCopy).code(), Code::kReadOnly);
  EXPECT_FALSE(files_.Exists(kCopy));
}

// Each call that the copy makes fails once, as on a disk that fills up: nothing stays behind, and
// the store goes on.
TEST_F(BackupTest, LeavesNothingAfterAnError) {
  FaultFileSystem faults(&files_);
  options_.file_system = &faults;
  Open();
  Fill();
  ASSERT_TRUE(IsOk(store_->Flush()));
  int failures = 0;
  for (uint64_t fail_at = 0;; ++fail_at) {
    uint64_t call = 0;
    faults.SetPlan([&](const kvdyno::testing::Call& each) {
      const bool copy = each.path.starts_with(kCopy);
      const bool counts = copy && each.name != "remove" && each.name != "list";
      return counts && call++ == fail_at ? Status::NoSpace("no space") : Status::Ok();
    });
    const Status status = store_->Backup(kCopy);
    faults.SetPlan(nullptr);
    if (status.ok()) break;
    ++failures;
    EXPECT_EQ(status.code(), Code::kNoSpace) << status.ToString();
    ASSERT_FALSE(files_.Exists(kCopy)) << "call " << fail_at;
  }
  EXPECT_GT(failures, 5);
  ExpectAll();
  OpenCopy();
  ExpectAll();
  store_.reset();  // before the file system
}

TEST_F(BackupTest, EndsEarlyWhenItIsAsked) {
  Open();
  Fill();
  ASSERT_TRUE(IsOk(store_->Close()));
  std::unique_ptr<Manifest> manifest;
  ASSERT_TRUE(IsOk(Manifest::Open(&files_, kDirectory, true, &manifest)));
  const Segments segments(&files_, kDirectory, false, 16);
  int pieces = 0;
  const auto check = [&pieces] {
    return ++pieces < 3 ? Status::Ok() : Status::InvalidArgument("closed");
  };
  const Status status = WriteBackup({&segments, manifest->state(), check}, &files_, kCopy);
  EXPECT_EQ(status.message(), "closed");
  EXPECT_FALSE(files_.Exists(kCopy));
}

// Two keys are always written together. Each copy holds them equal, and what was written before.
TEST_F(BackupTest, IsOneMomentOfAStoreThatIsWrittenTo) {
  options_.background_threads = 1;
  Open();
  std::atomic<bool> stop{false};
  std::atomic<int> written{0};
  std::thread writer([&] {
    for (int i = 1; !stop; ++i) {
      WriteBatch batch;
      batch.Put("a", std::to_string(i));
      batch.Put(KeyOf(i % 3000), std::string(100, 'v'));
      batch.Put("z", std::to_string(i));
      ASSERT_TRUE(IsOk(store_->Write(batch)));
      written = i;
    }
  });
  while (written == 0) std::this_thread::yield();
  for (int round = 0; round < 5; ++round) {
    const int before = written;
    const std::string copy = kCopy + std::to_string(round);
    ASSERT_TRUE(IsOk(store_->Backup(copy)));
    Options options = options_;
    options.background_threads = 0;
    std::unique_ptr<Store> opened;
    ASSERT_TRUE(IsOk(Store::Open(options, copy, &opened)));
    std::string a, z;
    ASSERT_TRUE(IsOk(opened->Get("a", &a)));
    ASSERT_TRUE(IsOk(opened->Get("z", &z)));
    EXPECT_EQ(a, z);
    EXPECT_GE(std::stoi(a), before);
    CheckReport report;
    ASSERT_TRUE(IsOk(opened->VerifyChecksums(&report)));
    EXPECT_TRUE(report.problems.empty()) << report.problems.front();
  }
  stop = true;
  writer.join();
}

}  // namespace
}  // namespace chunkstore
