#include "check/check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "check/repair.h"
#include "check/salvage.h"
#include "funk/sorted_run.h"
#include "kvdyno/base/testing/fault_file_system.h"
#include "kvdyno/base/testing/simulated_file_system.h"
#include "manifest/file.h"
#include "stage/ring.h"

namespace chunkstore {
namespace {

using kvdyno::testing::FaultFileSystem;
using kvdyno::testing::SimulatedFileSystem;

constexpr char kDirectory[] = "/store";
using Rows = std::map<std::string, std::string>;

std::string Key(uint64_t i) { return "key" + std::to_string(1000 + i); }
std::string Value(uint64_t i, Version version) {
  return "value" + std::to_string(i) + "@" + std::to_string(version) + std::string(40, 'v');
}

// A small store made by hand: two chunks with tables, log runs on top (with deletions), and a ring
// with newer writes. Keys 0 to 99 belong to the first chunk, those above to the second.
class CheckTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(files_.CreateDirectory(kDirectory).ok());
    ASSERT_TRUE(Manifest::Create(&files_, kDirectory, &manifest_).ok());
    Edit edit;
    edit.remove_chunks = {""};
    std::unique_ptr<SegmentWriter> writer;
    Segments segments(&files_, kDirectory, false, 16);
    ASSERT_TRUE(segments.Recover({}, false).ok());
    ASSERT_TRUE(segments.Create(&writer).ok());
    const ExtentRef first = WriteRun(writer.get(), 0, 100, 1, 1, 1000);
    const ExtentRef second = WriteRun(writer.get(), 100, 200, 1, 1, 1000);
    ASSERT_TRUE(writer->Finish(true).ok());
    ASSERT_TRUE(segments.Create(&writer).ok());
    const ExtentRef log1 = WriteRun(writer.get(), 0, 100, 3, 301, 5);
    const ExtentRef log2 = WriteRun(writer.get(), 100, 200, 7, 401, 4);
    ASSERT_TRUE(writer->Finish(true).ok());
    edit.add_chunks = {{.id = 2, .min_key = "", .table = first, .log = {log1}},
                       {.id = 3, .min_key = Key(100), .table = second, .log = {log2}}};
    edit.has_flushed = edit.has_clean = true;
    edit.flushed_sequence = 3;
    edit.flushed_version = 500;
    edit.clean = false;
    ASSERT_TRUE(manifest_->Apply(edit, true).ok());
    WriteRing();
    // Some tests damage by the place.
    tables_ = {first, second};
  }

  // Every `step`-th key of [from, to), versions from `version` on; every `deleted`-th is a
  // deletion.
  ExtentRef WriteRun(SegmentWriter* writer, uint64_t from, uint64_t to, uint64_t step,
                     Version version, uint64_t deleted) {
    SortedRunBuilder builder(writer, {.block_size = 512, .filter_bits = 10});
    for (uint64_t i = from; i < to; i += step, ++version) {
      const bool deletes = i % deleted == 0 && deleted < 1000;
      const std::string key = Key(i), value = deletes ? "" : Value(i, version);
      const Entry entry{key, value, version, deletes ? EntryType::kDeletion : EntryType::kValue};
      EXPECT_TRUE(builder.Add(entry).ok());
      if (deletes) {
        rows_.erase(key);
      } else {
        rows_[key] = value;
      }
    }
    SortedRunSummary summary;
    EXPECT_TRUE(builder.Finish(&summary).ok());
    return summary.extent;
  }

  void WriteRing() {
    RingOptions options;
    options.files = &files_;
    options.directory = kDirectory;
    options.stage_size = 64 << 10;
    RingRecovery recovery;
    std::unique_ptr<Ring> ring;
    ASSERT_TRUE(Ring::Open(options, 3, {}, false, &recovery, &ring).ok());
    std::shared_ptr<Stage> stage;
    ASSERT_TRUE(ring->Acquire(4, 501, &stage).ok());
    for (uint64_t i = 0; i < 20; ++i) {
      std::string payload;
      AppendOperation(&payload, EntryType::kValue, Key(i * 9), Value(i * 9, 501 + i));
      std::string_view stored;
      ASSERT_TRUE(stage->Append(501 + i, 1, payload, &stored).ok());
      rows_[Key(i * 9)] = Value(i * 9, 501 + i);
    }
    ASSERT_TRUE(stage->Sync().ok());
  }

  CheckReport Check() {
    CheckReport report;
    const Status status = CheckStore(&files_, kDirectory, &report);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return report;
  }

  // The rows of a repaired store: all in tables.
  Rows ReadTables() {
    Rows rows;
    std::unique_ptr<Manifest> manifest;
    const Status status = Manifest::Open(&files_, kDirectory, true, &manifest);
    EXPECT_TRUE(status.ok()) << status.ToString();
    if (!status.ok()) return rows;
    SegmentFiles segments(&files_, kDirectory);
    CheckReport report;
    for (const SortedRunToCheck& expected : RunsOf(manifest->state())) {
      std::unique_ptr<SortedRunFile> run;
      EXPECT_TRUE(SortedRunFile::Open(&segments, expected.extent, &run).ok());
      for (SalvageCursor cursor(std::move(run), &report); cursor.Valid(); cursor.Next()) {
        rows[std::string(cursor.entry().key)] = cursor.entry().value;
      }
    }
    EXPECT_TRUE(report.problems.empty());
    return rows;
  }

  CheckReport Repair() {
    CheckReport report;
    RepairOptions options;
    options.chunk_bytes = 2048;
    options.segment_bytes = 8192;
    const Status status = RepairStore(&files_, kDirectory, options, &report);
    EXPECT_TRUE(status.ok()) << status.ToString();
    const CheckReport after = Check();
    EXPECT_TRUE(after.problems.empty()) << after.problems.front();
    return report;
  }

  std::string Path(const std::string& name) const { return std::string(kDirectory) + "/" + name; }

  SimulatedFileSystem files_{1};
  std::unique_ptr<Manifest> manifest_;
  std::vector<ExtentRef> tables_;
  Rows rows_;
};

TEST_F(CheckTest, FindsNothingInASoundStoreAndWritesNothing) {
  const uint64_t calls = files_.modifying_calls();
  uint64_t done = 0, total = 0;
  CheckReport report;
  ASSERT_TRUE(CheckStore(&files_, kDirectory, &report, [&](uint64_t d, uint64_t t) {
                done = d;
                total = t;
              }).ok());
  EXPECT_TRUE(report.problems.empty()) << report.problems.front();
  EXPECT_EQ(report.entries, 200u + 34 + 15);
  EXPECT_GT(report.blocks, 20u);
  EXPECT_GT(total, 10000u);
  EXPECT_EQ(done, total);
  EXPECT_EQ(files_.modifying_calls(), calls);
  EXPECT_TRUE(CheckStore(&files_, "/elsewhere", &report).not_found());
}

TEST_F(CheckTest, ReportsFileAndOffsetOfADamagedBlock) {
  ASSERT_TRUE(files_.Flip(Path(SegmentName(tables_[0].segment)), 8 * 20).ok());
  const CheckReport report = Check();
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_TRUE(report.problems[0].starts_with(Path(SegmentName(tables_[0].segment)) +
                                             " at offset 0: block: expected crc32c"))
      << report.problems[0];
}

TEST_F(CheckTest, FindsEveryFlippedBitOfItsRuns) {
  const std::string path = Path(SegmentName(tables_[0].segment));
  for (uint64_t byte = 0; byte < tables_[1].offset + tables_[1].length; byte += 3) {
    const uint64_t bit = byte * 8 + byte % 8;
    ASSERT_TRUE(files_.Flip(path, bit).ok());
    EXPECT_FALSE(Check().problems.empty()) << "byte " << byte;
    ASSERT_TRUE(files_.Flip(path, bit).ok());
  }
}

TEST_F(CheckTest, FindsWhatChecksumsDoNot) {
  Edit edit;  // the two chunks' tables exchanged
  edit.remove_chunks = {"", Key(100)};
  edit.add_chunks = {{.id = 4, .min_key = "", .table = tables_[1], .log = {}},
                     {.id = 5, .min_key = Key(100), .table = tables_[0], .log = {}}};
  edit.has_epoch = true;
  edit.epoch = 1;
  edit.epochs = {{0, 50}};
  ASSERT_TRUE(manifest_->Apply(edit, true).ok());
  const CheckReport report = Check();
  const auto has = [&](const std::string& text) {
    return std::any_of(report.problems.begin(), report.problems.end(),
                       [&](const std::string& p) { return p.find(text) != std::string::npos; });
  };
  EXPECT_TRUE(has("expected keys from \"\" to below \"key1100\", got \"key1100\""));
  EXPECT_TRUE(has("expected keys from \"key1100\" to below the end, got \"key1000\""));
  EXPECT_TRUE(has("expected versions up to 50 in epoch 0"));
}

TEST_F(CheckTest, AskedForVersionsThatNothingExplains) {
  for (const char* name : {"ring-0", "ring-1", "ring-2"}) (void)files_.Remove(Path(name));
  EXPECT_TRUE(Check().problems.empty());
  ManifestState state = manifest_->state();
  state.flushed_version = 300;
  std::unique_ptr<Manifest> replaced;
  ASSERT_TRUE(Manifest::Replace(&files_, kDirectory, state, &replaced).ok());
  const CheckReport report = Check();
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_NE(report.problems[0].find("expected versions up to 300"), std::string::npos);
}

TEST_F(CheckTest, RepairKeepsAllRowsOfASoundStore) {
  const CheckReport report = Repair();
  EXPECT_EQ(report.problems.size(), 1u);  // where the old files are
  EXPECT_EQ(ReadTables(), rows_);
  std::vector<std::string> lost;
  ASSERT_TRUE(files_.List(Path("lost"), &lost).ok());
  EXPECT_GE(lost.size(), 4u);
}

TEST_F(CheckTest, RepairWithoutCurrentLosesNothing) {
  ASSERT_TRUE(files_.Remove(Path("CURRENT")).ok());
  Repair();
  EXPECT_EQ(ReadTables(), rows_);
}

TEST_F(CheckTest, RepairWithoutManifestFindsTheRuns) {
  ASSERT_TRUE(files_.Remove(Path("CURRENT")).ok());
  ASSERT_TRUE(files_.Remove(Path(ManifestName(manifest_->number()))).ok());
  Repair();
  EXPECT_EQ(ReadTables(), rows_);
}

TEST_F(CheckTest, RepairPassesOverDamage) {
  ASSERT_TRUE(files_.Flip(Path(SegmentName(tables_[0].segment)), 8 * 20).ok());
  const CheckReport report = Repair();
  ASSERT_EQ(report.problems.size(), 2u);
  EXPECT_NE(report.problems[0].find("lost"), std::string::npos);
  const Rows found = ReadTables();
  EXPECT_LT(found.size(), rows_.size());
  EXPECT_GT(found.size() + 20, rows_.size());
  for (const auto& [key, value] : found) EXPECT_EQ(rows_[key], value);
  Repair();  // another one puts its files beside the first one's
  EXPECT_EQ(ReadTables(), found);
  EXPECT_TRUE(files_.Exists(Path("lost-2")));
}

TEST_F(CheckTest, RepairFindsTheBlocksOfARunWithoutItsIndex) {
  const ExtentRef& first = tables_[0];
  const uint64_t end = first.offset + first.length;
  const std::string path = Path(SegmentName(first.segment));
  ASSERT_TRUE(files_.Flip(path, 8 * (end - kFooterBytes - 10)).ok());  // in the index
  const ExtentRef& second = tables_[1];
  ASSERT_TRUE(files_.Flip(path, 8 * (second.offset + second.length - 10)).ok());  // in the footer
  const CheckReport report = Repair();
  ASSERT_EQ(report.problems.size(), 3u);
  for (const size_t i : {0u, 1u}) {
    EXPECT_NE(report.problems[i].find("found 100 of the 100 entries"), std::string::npos)
        << report.problems[i];
  }
  EXPECT_EQ(ReadTables(), rows_);
}

TEST_F(CheckTest, RepairWithoutIndexEndsAtTheFirstDamagedBlock) {
  const ExtentRef& first = tables_[0];
  const std::string path = Path(SegmentName(first.segment));
  ASSERT_TRUE(files_.Flip(path, 8 * (first.offset + first.length - kFooterBytes - 10)).ok());
  ASSERT_TRUE(files_.Flip(path, 8 * (first.offset + 1500)).ok());  // in the third block
  const CheckReport report = Repair();
  EXPECT_NE(report.problems[0].find(" of the 100 entries of the run at offset 0 without it"),
            std::string::npos)
      << report.problems[0];
  const Rows found = ReadTables();
  EXPECT_LT(found.size(), rows_.size());
  EXPECT_TRUE(found.contains(Key(1))) << "of the first block";
  for (const auto& [key, value] : found) EXPECT_EQ(rows_[key], value);
}

TEST_F(CheckTest, RepairFindsWhatACutFileHasLeft) {
  const ExtentRef& second = tables_[1];
  const std::string path = Path(SegmentName(second.segment));
  ASSERT_TRUE(files_.Truncate(path, second.offset + second.length / 2).ok());
  Repair();
  const Rows found = ReadTables();
  EXPECT_TRUE(found.contains(Key(101)));
  EXPECT_FALSE(found.contains(Key(199)));
  for (const auto& [key, value] : found) EXPECT_EQ(rows_[key], value);
}

TEST_F(CheckTest, RepairOfAStoreAtItsLastEpochRestartsTheCount) {
  ManifestState state = manifest_->state();
  state.epoch = kMaxEpoch - 1;
  std::unique_ptr<Manifest> replaced;
  ASSERT_TRUE(Manifest::Replace(&files_, kDirectory, state, &replaced).ok());
  EXPECT_TRUE(Check().problems.empty());
  state.epoch = kMaxEpoch;
  state.clean = true;
  for (const char* name : {"ring-0", "ring-1", "ring-2"}) (void)files_.Remove(Path(name));
  ASSERT_TRUE(Manifest::Replace(&files_, kDirectory, state, &replaced).ok());
  EXPECT_TRUE(Check().problems.empty()) << "it can be opened as it is";
  WriteRing();
  state.clean = false;
  ASSERT_TRUE(Manifest::Replace(&files_, kDirectory, state, &replaced).ok());
  const CheckReport report = Check();
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_NE(report.problems[0].find("expected an epoch below 65535"), std::string::npos);
  Repair();
  EXPECT_EQ(ReadTables(), rows_);
  ASSERT_TRUE(Manifest::Open(&files_, kDirectory, true, &replaced).ok());
  EXPECT_EQ(replaced->state().epoch, 1u);
  EXPECT_EQ(replaced->state().flushed_version, MakeVersion(1, 520));
}

TEST_F(CheckTest, ARepairThatFailsLeavesAStoreThatIsSound) {
  FaultFileSystem failing(&files_);
  RepairOptions options;
  options.chunk_bytes = 2048;
  uint64_t last_call = 0, failed = 0;
  for (uint64_t call = 0; call <= last_call; ++call) {
    SCOPED_TRACE(call);
    const uint64_t start = failing.calls();
    failing.FailCall(start + call, Status::IoError("injected"));
    CheckReport report;
    const Status status = RepairStore(&failing, kDirectory, options, &report);
    last_call = failing.calls() - start;
    failed += status.ok() ? 0 : 1;
    EXPECT_TRUE(!status.ok() || !report.problems.empty());
    const CheckReport after = Check();
    ASSERT_TRUE(after.problems.empty()) << after.problems.front();
  }
  EXPECT_GT(failed, 5u);
}

}  // namespace
}  // namespace chunkstore
