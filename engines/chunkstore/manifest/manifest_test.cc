#include "manifest/manifest.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kvdyno/base/coding.h"
#include "kvdyno/base/crc32c.h"
#include "kvdyno/base/testing/fault_file_system.h"
#include "kvdyno/base/testing/simulated_file_system.h"
#include "manifest/file.h"

namespace chunkstore {
namespace {

using kvdyno::testing::FaultFileSystem;
using kvdyno::testing::Loss;
using kvdyno::testing::SimulatedFileSystem;

constexpr char kDirectory[] = "/store";

// A state as text: equal texts, equal states.
std::string Text(const ManifestState& state) { return EncodeManifest(state); }

Edit SplitEdit(uint64_t i) {
  Edit edit;
  edit.add_chunks = {{.id = i + 2,
                      .min_key = "key" + std::to_string(1000 + i),
                      .table = {i + 1, 0, 100 + i, 10},
                      .log = {}}};
  return edit;
}

Edit FlushEdit(uint64_t i) {
  Edit edit;
  edit.append_log = {{"", {1000 + i, 4096, 50, 3}}};
  edit.has_flushed = edit.has_epoch = edit.has_clean = true;
  edit.flushed_sequence = i;
  edit.flushed_version = 10 * i;
  edit.epoch = i;
  edit.epochs = {{i, 10 * i}};
  edit.clean = i % 2 == 0;
  return edit;
}

Edit ScriptedEdit(uint64_t i) { return i % 3 == 2 ? FlushEdit(i) : SplitEdit(i); }

class ManifestTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(files_.CreateDirectory(kDirectory).ok()); }

  Status Open(bool read_only = false) {
    manifest_.reset();
    return Manifest::Open(&files_, kDirectory, read_only, &manifest_);
  }
  std::string Path() const {
    return std::string(kDirectory) + "/" + ManifestName(manifest_->number());
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    EXPECT_TRUE(files_.List(kDirectory, &names).ok());
    std::sort(names.begin(), names.end());
    return names;
  }

  SimulatedFileSystem files_{1};
  std::unique_ptr<Manifest> manifest_;
};

TEST_F(ManifestTest, KeepsItsStateOverOpens) {
  EXPECT_TRUE(Open().not_found());
  ASSERT_TRUE(Manifest::Create(&files_, kDirectory, &manifest_).ok());
  EXPECT_EQ(manifest_->state().chunks.size(), 1u);
  for (uint64_t i = 0; i < 12; ++i) {
    ASSERT_TRUE(manifest_->Apply(ScriptedEdit(i), i % 2 == 0).ok());
    const std::string before = Text(manifest_->state());
    ASSERT_TRUE(Open(i % 4 == 0).ok());
    EXPECT_EQ(Text(manifest_->state()), before);
    ASSERT_TRUE(Open().ok());
    EXPECT_EQ(Text(manifest_->state()), before);
    EXPECT_EQ(Names(), (std::vector<std::string>{"CURRENT", ManifestName(manifest_->number())}));
  }
}

TEST_F(ManifestTest, RefusesToOverwriteAndToWriteWhenReadOnly) {
  ASSERT_TRUE(Manifest::Create(&files_, kDirectory, &manifest_).ok());
  std::unique_ptr<Manifest> second;
  EXPECT_EQ(Manifest::Create(&files_, kDirectory, &second).code(), Code::kInvalidArgument);
  const uint64_t calls = files_.modifying_calls();
  ASSERT_TRUE(Open(true).ok());
  EXPECT_EQ(manifest_->Apply(SplitEdit(0), true).code(), Code::kReadOnly);
  EXPECT_EQ(files_.modifying_calls(), calls);
}

TEST_F(ManifestTest, ABadEditLeavesNoTrace) {
  ASSERT_TRUE(Manifest::Create(&files_, kDirectory, &manifest_).ok());
  Edit edit = SplitEdit(0);
  edit.remove_chunks = {"nothing"};
  const uint64_t bytes = manifest_->bytes();
  EXPECT_EQ(manifest_->Apply(edit, true).code(), Code::kCorruption);
  EXPECT_EQ(manifest_->bytes(), bytes);
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(manifest_->state().chunks.size(), 1u);
}

TEST_F(ManifestTest, MissingFilesAreNamed) {
  ASSERT_TRUE(Manifest::Create(&files_, kDirectory, &manifest_).ok());
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(files_.Remove("/store/CURRENT").ok());
  Status status = Open();
  EXPECT_EQ(status.code(), Code::kCorruption);
  EXPECT_NE(status.message().find("Store::Repair"), std::string::npos) << status.message();
  std::unique_ptr<Manifest> second;
  EXPECT_EQ(Manifest::Create(&files_, kDirectory, &second).code(), Code::kInvalidArgument);

  ASSERT_TRUE(ReplaceFile(&files_, kDirectory, kCurrentName, EncodeCurrent(7)).ok());
  status = Open();
  EXPECT_EQ(status.code(), Code::kCorruption);
  EXPECT_EQ(status.file(), "/store/manifest-000007");
}

TEST_F(ManifestTest, AnInterruptedCreationIsBegunAgain) {
  ASSERT_TRUE(Manifest::Create(&files_, kDirectory, &manifest_).ok());
  ASSERT_TRUE(files_.Remove("/store/CURRENT").ok());
  EXPECT_TRUE(Open().not_found());
  EXPECT_TRUE(Manifest::Create(&files_, kDirectory, &manifest_).ok());
}

TEST_F(ManifestTest, RefusesAnotherFormat) {
  ASSERT_TRUE(Manifest::Create(&files_, kDirectory, &manifest_).ok());
  std::string content = EncodeManifest(manifest_->state());
  kvdyno::StoreFixed(content.data() + 8, kStoreFormat + 1);
  EXPECT_EQ(ReplayManifest(content, "x").status.code(), Code::kCorruption);
  kvdyno::StoreFixed(content.data() + 12, kvdyno::Crc32c({content.data(), 12}));
  const Replay replay = ReplayManifest(content, "x");
  EXPECT_EQ(replay.status.code(), Code::kUnsupported);
  EXPECT_NE(replay.status.message().find("expected store format 1 to 2, got 3"), std::string::npos);
}

TEST_F(ManifestTest, IsBegunAgainWhenItHasGrown) {
  ASSERT_TRUE(Manifest::Create(&files_, kDirectory, &manifest_).ok());
  uint64_t largest = 0;
  for (uint64_t i = 1; manifest_->number() == 1; ++i) {
    Edit edit;  // the state stays small, the file grows
    edit.add_chunks = {{.id = i + 1, .min_key = std::string(60000, 'k'), .table = {}, .log = {}}};
    if (i > 1) edit.remove_chunks = {std::string(60000, 'k')};
    ASSERT_TRUE(manifest_->Apply(edit, false).ok());
    largest = std::max(largest, manifest_->bytes());
    ASSERT_LT(i, 1000u);
  }
  EXPECT_GT(largest, uint64_t{4} << 20);
  EXPECT_LT(manifest_->bytes(), uint64_t{1} << 20);
  EXPECT_EQ(Names(), (std::vector<std::string>{"CURRENT", "manifest-000002"}));
  const std::string before = Text(manifest_->state());
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(Text(manifest_->state()), before);
}

TEST_F(ManifestTest, LargeStatesTakeSeveralFrames) {
  ManifestState state;
  for (uint64_t i = 0; i < 40; ++i) {
    const std::string key = i == 0 ? "" : std::string(60000, 'a') + std::to_string(100 + i);
    state.chunks.emplace(key, ChunkRecord{.id = i + 1, .min_key = key, .table = {}, .log = {}});
  }
  state.next_chunk_id = 41;
  const std::string bytes = EncodeManifest(state);
  const Replay replay = ReplayManifest(bytes, "x");
  ASSERT_TRUE(replay.status.ok());
  EXPECT_EQ(Text(replay.state), bytes);
  EXPECT_EQ(replay.snapshot_bytes, bytes.size());
  // A part of it is never taken for the whole.
  for (size_t length = 0; length < bytes.size(); length += length < 100 ? 1 : 9973) {
    EXPECT_EQ(ReplayManifest(bytes.substr(0, length), "x").status.code(), Code::kCorruption);
  }
}

TEST_F(ManifestTest, EveryFlippedBitIsDetectedOrHarmless) {
  ASSERT_TRUE(Manifest::Create(&files_, kDirectory, &manifest_).ok());
  for (uint64_t i = 0; i < 5; ++i) ASSERT_TRUE(manifest_->Apply(ScriptedEdit(i), true).ok());
  const std::string expected = Text(manifest_->state());
  const std::string path = Path();
  uint64_t size = 0;
  uint64_t harmless = 0;
  for (const std::string& file : {path, std::string("/store/CURRENT")}) {
    ASSERT_TRUE(files_.Size(file, &size).ok());
    for (uint64_t bit = 0; bit < size * 8; ++bit) {
      ASSERT_TRUE(files_.Flip(file, bit).ok());
      const Status status = Open(true);
      if (status.ok()) {
        ++harmless;
        ASSERT_EQ(Text(manifest_->state()), expected) << file << " bit " << bit;
      } else {
        ASSERT_EQ(status.code(), Code::kCorruption) << status.ToString();
        ASSERT_EQ(status.file(), file);
      }
      ASSERT_TRUE(files_.Flip(file, bit).ok());
    }
  }
  EXPECT_EQ(harmless, 16u * 8);  // the last mark
}

TEST_F(ManifestTest, ATornEditIsDropped) {
  ASSERT_TRUE(Manifest::Create(&files_, kDirectory, &manifest_).ok());
  ASSERT_TRUE(manifest_->Apply(SplitEdit(0), true).ok());
  const std::string before = Text(manifest_->state());
  const uint64_t good = manifest_->bytes();
  ASSERT_TRUE(manifest_->Apply(SplitEdit(1), false).ok());
  const uint64_t end = manifest_->bytes();
  std::string content;
  ASSERT_TRUE(ReadWholeFile(&files_, Path(), &content).ok());
  for (uint64_t length = good; length < end; ++length) {
    const Replay replay = ReplayManifest(content.substr(0, length), "x");
    ASSERT_TRUE(replay.status.ok());
    EXPECT_EQ(Text(replay.state), before);
    EXPECT_EQ(replay.dropped_bytes, length - good);
  }
}

// --- power and faults

// Applies scripted edits until one fails; the texts of the states that are on disk, or may be.
struct Outcome {
  std::string before, after;  // equal when nothing was in progress
  bool created = false;
};

Outcome RunScript(kvdyno::FileSystem* files, bool reopen) {
  Outcome outcome;
  std::unique_ptr<Manifest> manifest;
  if (!Manifest::Create(files, kDirectory, &manifest).ok()) return outcome;
  outcome.created = true;
  for (uint64_t i = 0; i < 6; ++i) {
    outcome.before = outcome.after = Text(manifest->state());
    if (reopen && i == 3 && !Manifest::Open(files, kDirectory, false, &manifest).ok()) break;
    ManifestState next = manifest->state();
    EXPECT_TRUE(ApplyEdit(ScriptedEdit(i), &next).ok());
    if (!manifest->Apply(ScriptedEdit(i), true).ok()) {
      outcome.after = Text(next);
      break;
    }
    outcome.before = outcome.after = Text(next);
  }
  return outcome;
}

void ExpectOutcome(kvdyno::FileSystem* files, const Outcome& outcome) {
  std::unique_ptr<Manifest> manifest;
  const Status status = Manifest::Open(files, kDirectory, false, &manifest);
  if (!outcome.created && status.not_found()) {
    EXPECT_TRUE(Manifest::Create(files, kDirectory, &manifest).ok());
    return;
  }
  ASSERT_TRUE(status.ok()) << status.ToString();
  if (!outcome.created) return;
  const std::string found = Text(manifest->state());
  EXPECT_TRUE(found == outcome.before || found == outcome.after);
  EXPECT_TRUE(manifest->Apply(SplitEdit(500), true).ok());
}

TEST(ManifestPowerTest, PowerLossAtEveryCall) {
  for (const Loss loss : {Loss::kDropAll, Loss::kKeepAll, Loss::kRandom, Loss::kTorn}) {
    uint64_t last = 1000;
    for (uint64_t call = 0; call < last; ++call) {
      for (uint64_t seed = 0; seed < (loss == Loss::kRandom || loss == Loss::kTorn ? 10u : 1u);
           ++seed) {
        SCOPED_TRACE("loss " + std::to_string(static_cast<int>(loss)) + " call " +
                     std::to_string(call) + " seed " + std::to_string(seed));
        SimulatedFileSystem files(seed);
        ASSERT_TRUE(files.CreateDirectory(kDirectory).ok());
        ASSERT_TRUE(files.SyncDirectory("/").ok());
        files.LosePowerAfter(call, loss);
        const Outcome outcome = RunScript(&files, true);
        if (!files.power_lost()) {
          last = call;
          files.LosePower(loss);
        }
        files.Restart();
        ExpectOutcome(&files, outcome);
        if (::testing::Test::HasFailure()) return;
      }
    }
    EXPECT_GT(last, 20u);
  }
}

TEST(ManifestFaultTest, AFaultAtEveryCall) {
  for (const Code code : {Code::kIoError, Code::kNoSpace}) {
    for (const bool partial : {false, true}) {
      uint64_t last = 1000;
      for (uint64_t call = 1; call < last; ++call) {
        SCOPED_TRACE("code " + std::to_string(static_cast<int>(code)) + " call " +
                     std::to_string(call));
        SimulatedFileSystem base(call);
        ASSERT_TRUE(base.CreateDirectory(kDirectory).ok());
        FaultFileSystem files(&base);
        files.WritePartially(partial);
        files.FailCall(call, Status(code, "injected"));
        const Outcome outcome = RunScript(&files, true);
        if (files.calls() <= call) last = call;
        ExpectOutcome(&base, outcome);
        if (::testing::Test::HasFailure()) return;
      }
      EXPECT_GT(last, 30u);
    }
  }
}

TEST(ManifestFaultTest, GoesOnWhenSpaceReturns) {
  SimulatedFileSystem base(1);
  ASSERT_TRUE(base.CreateDirectory(kDirectory).ok());
  FaultFileSystem files(&base);
  files.WritePartially(true);
  std::unique_ptr<Manifest> manifest;
  ASSERT_TRUE(Manifest::Create(&files, kDirectory, &manifest).ok());
  ASSERT_TRUE(manifest->Apply(SplitEdit(0), true).ok());
  const auto full = [](const kvdyno::testing::Call& call) {
    const bool writes = call.name == "append" || call.name == "create";
    return writes ? Status(Code::kNoSpace, "full") : Status::Ok();
  };
  files.SetPlan(full);
  EXPECT_EQ(manifest->Apply(SplitEdit(1), true).code(), Code::kNoSpace);
  EXPECT_EQ(manifest->Apply(SplitEdit(1), true).code(), Code::kNoSpace);
  EXPECT_FALSE(manifest->failed());
  EXPECT_EQ(manifest->state().chunks.size(), 2u);
  files.SetPlan(nullptr);
  EXPECT_TRUE(manifest->Apply(SplitEdit(1), true).ok());

  // A full disk does not keep a store from being opened and read.
  files.SetPlan(full);
  ASSERT_TRUE(Manifest::Open(&files, kDirectory, false, &manifest).ok());
  EXPECT_EQ(manifest->state().chunks.size(), 3u);
  EXPECT_EQ(manifest->Apply(SplitEdit(2), true).code(), Code::kNoSpace);
  files.SetPlan(nullptr);
  EXPECT_TRUE(manifest->Apply(SplitEdit(2), true).ok());
  ASSERT_TRUE(Manifest::Open(&files, kDirectory, false, &manifest).ok());
  EXPECT_EQ(manifest->state().chunks.size(), 4u);
}

TEST(ManifestFaultTest, AFailedSyncIsFinal) {
  SimulatedFileSystem base(1);
  ASSERT_TRUE(base.CreateDirectory(kDirectory).ok());
  FaultFileSystem files(&base);
  std::unique_ptr<Manifest> manifest;
  ASSERT_TRUE(Manifest::Create(&files, kDirectory, &manifest).ok());
  files.SetPlan([](const kvdyno::testing::Call& call) {
    return call.name == "sync" ? Status::IoError("sync: no") : Status::Ok();
  });
  EXPECT_EQ(manifest->Apply(SplitEdit(0), true).message(), "sync: no");
  files.SetPlan(nullptr);
  EXPECT_TRUE(manifest->failed());
  EXPECT_EQ(manifest->Apply(SplitEdit(0), true).message(), "sync: no");
  EXPECT_EQ(manifest->state().chunks.size(), 1u);
}

}  // namespace
}  // namespace chunkstore
