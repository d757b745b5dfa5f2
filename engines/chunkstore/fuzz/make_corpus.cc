// Writes the seeds of all targets: make_corpus FOLDER. Run it again when a form changes, and commit
// what it writes. libFuzzer's own findings lie beside them, and `format1`, seeds of the first format
// as its builders wrote them.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "funk/format.h"
#include "funk/key_index.h"
#include "kvdyno/base/coding.h"
#include "kvdyno/base/crc32c.h"
#include "kvdyno/base/hash.h"
#include "manifest/file.h"
#include "stage/layout.h"
#include "stage/record.h"

using namespace chunkstore;

namespace {

struct Seeds {
  std::filesystem::path folder;

  void Add(const std::string& target, const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories(folder / target);
    std::ofstream(folder / target / name, std::ios::binary) << bytes;
  }
};

std::string RecordOf(Version first, uint32_t count) {
  std::string payload;
  for (uint32_t i = 0; i < count; ++i) {
    const std::string key = "key" + std::to_string(first + i);
    AppendOperation(&payload, i % 3 == 2 ? EntryType::kDeletion : EntryType::kValue, key, "value");
  }
  std::string bytes(RecordSize(payload.size()), '\0');
  std::string_view stored;
  EncodeRecord(bytes.data(), first, count, 0, payload, &stored);
  return bytes;
}

std::string SpilledRecord() {
  std::string payload(kSpillRefBytes, '\0');
  StoreSpillRef(payload.data(), {7, 1000, 0x1234});
  std::string bytes(RecordSize(payload.size()), '\0');
  std::string_view stored;
  EncodeRecord(bytes.data(), 9, 1, kSpilled, payload, &stored);
  return bytes;
}

void RecordSeeds(const Seeds& seeds) {
  seeds.Add("record", "one", RecordOf(1, 1));
  seeds.Add("record", "batch", RecordOf(MakeVersion(3, 77), 9));
  seeds.Add("record", "spilled", SpilledRecord());
}

void StageSeeds(const Seeds& seeds) {
  const auto stage = [](char choices, const std::string& records) {
    std::string page(kRecordsAt, '\0');
    for (const size_t at : kHeadersAt) StoreHeader(page.data() + at, {5, 100, 65536});
    for (const size_t at : kMarksAt) StoreMark(page.data() + at, 5, 101);
    std::string bytes(1, choices);
    for (const size_t at : kHeadersAt) bytes += page.substr(at, 44);
    for (const size_t at : kMarksAt) bytes += page.substr(at, 20);
    return bytes + records;
  };
  const std::string records = RecordOf(100, 1) + RecordOf(101, 3) + RecordOf(104, 1);
  seeds.Add("stage", "whole", stage(0, records));
  seeds.Add("stage", "limited", stage(2, records));
  seeds.Add("stage", "fixed", stage(1, records));
  seeds.Add("stage", "gap", stage(1, RecordOf(100, 1) + std::string(40, '\0') + RecordOf(103, 2)));
  seeds.Add("stage", "empty", stage(0, ""));
}

// At offset 0 of its run.
std::string Block(const std::vector<Entry>& entries) {
  std::string bytes, offsets;
  for (const Entry& entry : entries) {
    kvdyno::AppendFixed(&offsets, static_cast<uint32_t>(bytes.size()));
    char head[kMaxEntryHead];
    bytes.append(head, StoreEntryHead(head, entry));
    bytes.append(entry.key).append(entry.value);
  }
  bytes += offsets;
  kvdyno::AppendFixed(&bytes, static_cast<uint32_t>(entries.size()) | kPlacedBlock);
  kvdyno::AppendFixed(&bytes, kvdyno::Crc32c(bytes, PlaceChecksum(0)));
  return bytes;
}

void BlockSeeds(const Seeds& seeds) {
  seeds.Add("block", "one", Block({{"k", "value", 1, EntryType::kValue}}));
  seeds.Add("block", "several",
            Block({{"", "", MakeVersion(2, 9), EntryType::kValue},
                   {"apple", "red", 7, EntryType::kValue},
                   {"apple", "", 5, EntryType::kDeletion},
                   {"pear", std::string_view("\0\xff", 2), 6, EntryType::kValue}}));
  const std::string large(300, 'x');
  seeds.Add("block", "large", Block({{large, large, 8, EntryType::kValue}}));
}

// The index of so many blocks; some have a filter.
SortedRunIndex IndexOf(uint32_t blocks, bool filtered) {
  SortedRunIndex index;
  std::vector<uint64_t> hashes;
  uint64_t offset = 0;
  for (uint32_t i = 0; i < blocks; ++i) {
    BlockRef ref;
    ref.offset = offset;
    ref.length = 100 + i;
    ref.entries = i + 1;
    index.blocks.push_back(ref);
    index.keys += "key" + std::to_string(i);
    index.key_ends.push_back(static_cast<uint32_t>(index.keys.size()));
    hashes.push_back(kvdyno::Hash64(index.first_key(i)));
    offset += ref.length;
  }
  index.keys += "last";
  index.key_ends.push_back(static_cast<uint32_t>(index.keys.size()));
  if (filtered) index.filter = BloomFilter(hashes, 10);
  return index;
}

void RunIndexSeeds(const Seeds& seeds) {
  for (const bool filtered : {false, true}) {
    for (const uint32_t blocks : {1u, 5u}) {
      SortedRunFooter footer;
      const std::string bytes = EncodeSortedRunIndex(IndexOf(blocks, filtered), &footer);
      seeds.Add("run_index", (filtered ? "filtered" : "blocks") + std::to_string(blocks),
                bytes + EncodeFooter(footer));
    }
  }
}

void KeyIndexSeeds(const Seeds& seeds) {
  for (const uint64_t keys : {1, 8, 9, 40}) {
    std::vector<SortedRunKey> list;
    for (uint64_t i = 0; i < keys; ++i) {
      list.push_back({"user" + std::to_string(1000 + i / 2),
                      100 - i % 2,
                      {i / 4 * 3000, 3000},
                      static_cast<uint32_t>(i % 3)});
    }
    std::string bytes;
    KeyIndex(list, 0).Encode(&bytes);
    seeds.Add("key_index", "keys" + std::to_string(keys), bytes);
  }
}

Edit FullEdit() {
  Edit edit;
  edit.next_chunk_id = 9;
  edit.remove_chunks = {"m"};
  edit.add_chunks = {{.id = 7, .min_key = "n", .table = {1, 0, 4096, 10}, .log = {{2, 0, 99, 3}}},
                     {.id = 8, .min_key = "x", .table = {}, .log = {}}};
  edit.append_log = {{"", {3, 512, 100, 4}}};
  edit.has_flushed = edit.has_epoch = edit.has_clean = true;
  edit.flushed_sequence = 4;
  edit.flushed_version = MakeVersion(1, 1000);
  edit.epoch = 2;
  edit.epochs = {{1, MakeVersion(1, 1000)}};
  edit.has_ring = true;
  edit.ring_sequence = 6;
  edit.warmth = 7;
  return edit;
}

void ManifestSeeds(const Seeds& seeds) {
  seeds.Add("edit", "full", EncodeEdit(FullEdit()));
  Edit flush;
  flush.append_log = {{"", {9, 0, 10, 1}}, {"m", {9, 10, 10, 1}}};
  flush.has_flushed = true;
  seeds.Add("edit", "flush", EncodeEdit(flush));
  seeds.Add("edit", "empty", "");

  ManifestState state;
  state.chunks.emplace("", ChunkRecord{.id = 1, .min_key = {}, .table = {}, .log = {}});
  state.chunks.emplace("m", ChunkRecord{.id = 2, .min_key = "m", .table = {5, 0, 9, 1}, .log = {}});
  state.next_chunk_id = 3;
  std::string bytes = EncodeManifest(state);
  seeds.Add("manifest", "fresh", bytes);
  AppendManifestFrame(&bytes, EncodeEdit(FullEdit()));
  seeds.Add("manifest", "unacknowledged", bytes);
  AppendManifestMark(&bytes, bytes.size());
  seeds.Add("manifest", "edited", bytes);

  seeds.Add("names", "current", EncodeCurrent(12));
  seeds.Add("names", "manifest", ManifestName(1234567));
  seeds.Add("names", "segment", SegmentName(42));
  seeds.Add("names", "spill", SpillName(0x10000000000ff));
  seeds.Add("names", "escaped", "a\\x00\\\\\\\"");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const Seeds seeds{argv[1]};
  RecordSeeds(seeds);
  StageSeeds(seeds);
  BlockSeeds(seeds);
  RunIndexSeeds(seeds);
  KeyIndexSeeds(seeds);
  ManifestSeeds(seeds);
  return 0;
}
