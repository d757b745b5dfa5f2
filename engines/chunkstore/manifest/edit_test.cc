#include <gtest/gtest.h>

#include <random>

#include "kvdyno/base/coding.h"
#include "manifest/manifest.h"

namespace chunkstore {
namespace {

ChunkRecord Chunk(uint64_t id, std::string key, ExtentRef table = {},
                  std::vector<ExtentRef> log = {}) {
  return {.id = id, .min_key = std::move(key), .table = table, .log = std::move(log)};
}

ManifestState TwoChunks() {
  ManifestState state;
  Edit edit;
  edit.add_chunks = {Chunk(1, ""), Chunk(2, "m", {1, 0, 100, 5}, {{2, 0, 50, 2}})};
  EXPECT_TRUE(ApplyEdit(edit, &state).ok());
  return state;
}

Edit FullEdit() {
  Edit edit;
  edit.next_chunk_id = 99;
  edit.remove_chunks = {"", std::string("m\0n", 3)};
  edit.add_chunks = {Chunk(7, ""),
                     Chunk(8, "\xff\xfe", {1, 2, 3, 4}, {{5, 6, 7, 8}, {9, 1, 2, 3}})};
  edit.append_log = {{"q", {1, UINT64_MAX - 9, 9, 1}}};
  edit.has_flushed = edit.has_epoch = edit.has_clean = edit.clean = true;
  edit.flushed_sequence = 12;
  edit.flushed_version = UINT64_MAX;
  edit.epoch = 3;
  edit.epochs = {{1, 10}, {2, 20}};
  edit.has_ring = true;
  edit.ring_sequence = 14;
  edit.warmth = 15;
  return edit;
}

TEST(EditTest, EncodesEveryField) {
  const std::string bytes = EncodeEdit(FullEdit());
  Edit edit;
  ASSERT_TRUE(DecodeEdit(bytes, &edit).ok());
  EXPECT_EQ(edit.next_chunk_id, 99u);
  EXPECT_EQ(edit.remove_chunks, FullEdit().remove_chunks);
  ASSERT_EQ(edit.add_chunks.size(), 2u);
  EXPECT_TRUE(edit.add_chunks[0].table.empty());
  EXPECT_EQ(edit.add_chunks[1].min_key, "\xff\xfe");
  EXPECT_EQ(edit.add_chunks[1].log, FullEdit().add_chunks[1].log);
  EXPECT_EQ(edit.append_log, FullEdit().append_log);
  EXPECT_EQ(edit.flushed_version, UINT64_MAX);
  EXPECT_EQ(edit.epochs[1].last, 20u);
  EXPECT_TRUE(edit.clean);
  EXPECT_EQ(edit.ring_sequence, 14u);
  EXPECT_EQ(edit.warmth, 15u);
  EXPECT_EQ(EncodeEdit(edit), bytes);
}

TEST(EditTest, RefusesMalformedBytes) {
  const std::string bytes = EncodeEdit(FullEdit());
  Edit edit;
  size_t refused = 0;
  for (size_t length = 0; length < bytes.size(); ++length) {
    refused += DecodeEdit(bytes.substr(0, length), &edit).code() == Code::kCorruption ? 1u : 0u;
  }
  EXPECT_EQ(refused, bytes.size() - 11);  // all lengths but those at which a field ends
  EXPECT_EQ(DecodeEdit("\x63", &edit).message(),
            "edit at byte 0 of 1: expected a well-formed field, got one with tag 99");
  std::string runs("\x02\x01\x00\x00\x00\x00\x00", 7);  // a chunk with 2^60 log runs
  kvdyno::AppendVarint(&runs, uint64_t{1} << 60);
  EXPECT_EQ(DecodeEdit(runs, &edit).code(), Code::kCorruption);
}

TEST(EditTest, AnyBytesDecodeToAnErrorOrAnEdit) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::string bytes = EncodeEdit(FullEdit());
  for (int i = 0; i < 20000; ++i) {
    std::string mutated = bytes;
    for (uint64_t n = random() % 4 + 1; n > 0; --n) {
      mutated[random() % mutated.size()] = static_cast<char>(random());
    }
    Edit edit, again;
    if (!DecodeEdit(mutated, &edit).ok()) continue;
    ASSERT_TRUE(DecodeEdit(EncodeEdit(edit), &again).ok());
    ManifestState state = TwoChunks();
    (void)ApplyEdit(edit, &state);
    EXPECT_TRUE(state.chunks.contains(""));
  }
}

TEST(EditTest, AppliesRemovalsBeforeAdditionsBeforeLogs) {
  ManifestState state = TwoChunks();
  Edit edit;
  edit.remove_chunks = {"m"};
  edit.add_chunks = {Chunk(3, "m"), Chunk(4, "t")};
  edit.append_log = {
      {"", {4, 0, 10, 1}}, {"m", {4, 10, 10, 1}}, {"t", {4, 20, 10, 1}}, {"m", {4, 30, 10, 1}}};
  edit.has_flushed = true;
  edit.flushed_sequence = 1;
  edit.flushed_version = 7;
  ASSERT_TRUE(ApplyEdit(edit, &state).ok());
  EXPECT_EQ(state.chunks.size(), 3u);
  EXPECT_EQ(state.chunks.find("m")->second.id, 3u);
  EXPECT_EQ(state.chunks.find("m")->second.log.size(), 2u);
  EXPECT_EQ(state.chunks.find("t")->second.log.front().offset, 20u);
  EXPECT_EQ(state.next_chunk_id, 5u);
  EXPECT_EQ(state.flushed_version, 7u);
}

TEST(EditTest, AnEditThatDoesNotFitChangesNothing) {
  std::vector<Edit> misfits(10);
  misfits[0].remove_chunks = {"x"};
  misfits[1].remove_chunks = {"m", "m"};
  misfits[2].remove_chunks = {""};
  misfits[3].add_chunks = {Chunk(3, "m")};
  misfits[4].add_chunks = {Chunk(3, "n"), Chunk(4, "n")};
  misfits[5].append_log = {{"", {4, 0, 1, 1}}, {"n", {4, 0, 10, 1}}};
  misfits[6].remove_chunks = {"m"};
  misfits[6].append_log = {{"m", {4, 0, 10, 1}}};
  misfits[7].has_flushed = true;  // sequence 0, but 5 is flushed
  misfits[8].has_epoch = true;    // epoch 0 after 2
  misfits[9].has_flushed = true;
  misfits[9].flushed_sequence = 6;
  for (size_t i = 0; i < misfits.size(); ++i) {
    SCOPED_TRACE(i);
    ManifestState state = TwoChunks();
    state.flushed_sequence = 5;
    state.flushed_version = 5;
    state.epoch = 2;
    misfits[i].has_clean = true;
    misfits[i].clean = false;
    const Status status = ApplyEdit(misfits[i], &state);
    EXPECT_EQ(status.code(), Code::kCorruption);
    EXPECT_TRUE(status.message().starts_with("manifest edit: expected ")) << status.message();
    EXPECT_TRUE(state.clean);
    EXPECT_EQ(state.chunks.size(), 2u);
    EXPECT_TRUE(state.chunks.find("")->second.log.empty());
  }
}

TEST(EditTest, CheckStateFindsWhatEditsDoNot) {
  ManifestState state = TwoChunks();
  std::vector<std::string> problems;
  CheckState(state, &problems);
  EXPECT_TRUE(problems.empty()) << problems.front();

  state.chunks.find("")->second.log = {{1, 99, 10, 1}};
  state.chunks.find("")->second.id = 2;
  state.epochs = {{1, 5}};
  CheckState(state, &problems);
  ASSERT_EQ(problems.size(), 3u);
  EXPECT_EQ(problems[0],
            "manifest, segment 1: expected runs that do not overlap, got one up to offset 100 and "
            "one from offset 99");
  EXPECT_EQ(problems[1], "manifest: expected one chunk with id 2, got two");
  EXPECT_EQ(problems[2], "manifest: expected an ended epoch above 0 and not above 0, got 1");
}

}  // namespace
}  // namespace chunkstore
