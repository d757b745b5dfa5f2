#include <gtest/gtest.h>

#include "funk/sorted_run.h"
#include "funk/warmth.h"
#include "kvdyno/base/testing/simulated_file_system.h"
#include "manifest/file.h"
#include "manifest/manifest.h"
#include "stage/ring.h"
#include "tools/dump_document.h"

namespace chunkstore {
namespace {

constexpr char kDirectory[] = "/store";

class DumpTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(files_.CreateDirectory(kDirectory).ok());
    std::unique_ptr<Manifest> manifest;
    ASSERT_TRUE(Manifest::Create(&files_, kDirectory, &manifest).ok());
    Segments segments(&files_, kDirectory, false, 16);
    ASSERT_TRUE(segments.Recover({}, false).ok());
    std::unique_ptr<SegmentWriter> writer;
    ASSERT_TRUE(segments.Create(&writer).ok());
    SortedRunBuilder builder(writer.get(), {});
    ASSERT_TRUE(builder.Add({std::string_view("a\0\n", 3), "one", 7, EntryType::kValue}).ok());
    ASSERT_TRUE(builder.Add({"b", "", MakeVersion(1, 9), EntryType::kDeletion}).ok());
    SortedRunSummary summary;
    ASSERT_TRUE(builder.Finish(&summary).ok());
    ASSERT_TRUE(writer->Finish(true).ok());
    segment_ = summary.extent.segment;
    Edit edit;
    edit.append_log = {{"", summary.extent}};
    edit.add_chunks = {{.id = 5, .min_key = "m", .table = {}, .log = {}}};
    ASSERT_TRUE(manifest->Apply(edit, true).ok());
    RingOptions options;
    options.files = &files_;
    options.directory = kDirectory;
    options.stage_size = 64 << 10;
    RingRecovery recovery;
    std::unique_ptr<Ring> ring;
    ASSERT_TRUE(Ring::Open(options, 0, {}, false, &recovery, &ring).ok());
    std::shared_ptr<Stage> stage;
    ASSERT_TRUE(ring->Acquire(1, 20, &stage).ok());
    std::string payload;
    AppendOperation(&payload, EntryType::kValue, "ringed", "two");
    std::string_view stored;
    ASSERT_TRUE(stage->Append(20, 1, payload, &stored).ok());
  }

  Json Show(DumpRequest request, Code expected = Code::kOk) {
    request.directory = kDirectory;
    Json document;
    const uint64_t calls = files_.modifying_calls();
    EXPECT_EQ(Dump(&files_, request, &document).code(), expected);
    EXPECT_EQ(files_.modifying_calls(), calls);
    return document;
  }

  kvdyno::testing::SimulatedFileSystem files_{1};
  uint64_t segment_ = 0;
};

TEST_F(DumpTest, ShowsTheManifest) {
  const Json shown = Show({.what = "manifest", .limit = 1});
  EXPECT_EQ(shown["chunk_count"], 2);
  ASSERT_EQ(shown["chunks"].size(), 1u);
  EXPECT_EQ(shown["chunks"][0]["entries"], 2);
  EXPECT_EQ(shown["next_chunk_id"], 6);
}

TEST_F(DumpTest, ShowsChunksByKeyAndId) {
  EXPECT_EQ(Show({.what = "chunk", .key = "zebra"})["id"], 5);
  EXPECT_EQ(Show({.what = "chunk", .key = "b"})["end_key"], "m");
  EXPECT_EQ(Show({.what = "chunk", .by_id = true, .number = 5})["min_key"], "m");
  Show({.what = "chunk", .by_id = true, .number = 99}, Code::kInvalidArgument);
}

TEST_F(DumpTest, ShowsEntries) {
  const Json shown = Show({.what = "funk", .key = "a"});
  EXPECT_EQ(shown["runs"][0]["filter_bytes"], 0) << "of a log";
  const Json& entries = shown["runs"][0]["shown_entries"];
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0]["key"], "a\\x00\\x0a");
  EXPECT_EQ(entries[0]["value"], "\"one\"");
  EXPECT_EQ(entries[1]["version"], "1:9");
  EXPECT_EQ(entries[1]["type"], "deletion");
  EXPECT_NE(RenderText(shown).find("- key=b version=1:9 type=deletion\n"), std::string::npos);
}

TEST_F(DumpTest, ShowsSegmentsAndTheRing) {
  const Json segment = Show({.what = "segment", .number = segment_});
  ASSERT_EQ(segment["runs"].size(), 1u);
  EXPECT_EQ(segment["runs"][0]["chunk"], 1);
  const Json ring = Show({.what = "ring"});
  ASSERT_EQ(ring["stages"].size(), 1u);
  EXPECT_EQ(ring["stages"][0]["shown_entries"][0]["key"], "ringed");
}

TEST_F(DumpTest, ShowsWhatACloseSaved) {
  EXPECT_TRUE(Show({.what = "warmth"}).empty());
  std::unique_ptr<WarmthWriter> writer;
  ASSERT_TRUE(WarmthWriter::Create(&files_, kDirectory, 1, &writer).ok());
  ChunkWarmth chunk;
  chunk.id = 5;
  chunk.reads = 70;
  chunk.runs = 3;
  ASSERT_TRUE(writer->Add(chunk, "an index").ok());
  ASSERT_TRUE(writer->Finish().ok());
  std::unique_ptr<Manifest> manifest;
  ASSERT_TRUE(Manifest::Open(&files_, kDirectory, false, &manifest).ok());
  Edit closed;
  closed.has_clean = closed.clean = true;
  closed.warmth = 1;
  ASSERT_TRUE(manifest->Apply(closed, true).ok());
  const Json shown = Show({.what = "warmth"});
  ASSERT_EQ(shown["chunks"].size(), 1u);
  EXPECT_EQ(shown["chunks"][0]["chunk"], 5);
  EXPECT_EQ(shown["chunks"][0]["reads"], 70);
  EXPECT_EQ(shown["chunks"][0]["log_runs"], 3);
  EXPECT_EQ(shown["chunks"][0]["index_bytes"], 8);
}

TEST_F(DumpTest, ShowsWhatIsLeftOfADamagedManifest) {
  ASSERT_TRUE(files_.Flip(std::string(kDirectory) + "/" + ManifestName(1), 8 * 70).ok());
  const Json shown = Show({.what = "manifest"}, Code::kCorruption);
  EXPECT_TRUE(shown.contains("chunk_count"));
}

}  // namespace
}  // namespace chunkstore
