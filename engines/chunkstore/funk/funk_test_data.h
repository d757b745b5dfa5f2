// What the tests of this room share: random entries, files that fail on demand, and a model to
// compare with.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "funk/log.h"
#include "kvdyno/base/hash.h"
#include "kvdyno/base/testing/fault_file_system.h"
#include "kvdyno/base/testing/simulated_file_system.h"

namespace chunkstore::testing {

struct OwnedEntry {
  std::string key, value;
  Version version = 0;
  EntryType type = EntryType::kValue;
  Entry view() const { return {key, value, version, type}; }
};
using Entries = std::vector<OwnedEntry>;

inline void Sort(Entries* entries) {
  const auto order = [](const OwnedEntry& a, const OwnedEntry& b) {
    return Compare(a.key, a.version, b.key, b.version) < 0;
  };
  const auto equal = [](const OwnedEntry& a, const OwnedEntry& b) {
    return a.key == b.key && a.version == b.version;
  };
  std::stable_sort(entries->begin(), entries->end(), order);
  entries->erase(std::unique(entries->begin(), entries->end(), equal), entries->end());
}

inline std::string Numbered(std::string name, uint64_t number) {
  return name.append(std::to_string(number));
}

// Keys with shared prefixes, zeros and the empty one; several versions of many.
inline std::string RandomKey(std::mt19937_64* random) {
  const auto pick = [&](uint64_t n) { return (*random)() % n; };
  switch (pick(8)) {
    case 0:
      return std::string(pick(12), '\0');
    case 1:
      return std::string(pick(300), 'p') + static_cast<char>(pick(256));
    default:
      return Numbered("user", pick(400));
  }
}

inline Entries RandomEntries(std::mt19937_64* random, size_t count, Version first, size_t longest) {
  Entries entries;
  for (size_t i = 0; i < count; ++i) {
    OwnedEntry entry;
    entry.key = RandomKey(random);
    entry.version = first + i;
    entry.type = (*random)() % 8 == 0 ? EntryType::kDeletion : EntryType::kValue;
    if (entry.type == EntryType::kValue) {
      const size_t limit = (*random)() % 50 == 0 ? longest : 60;
      entry.value.assign((*random)() % (limit + 1), static_cast<char>('a' + i % 26));
    }
    entries.push_back(std::move(entry));
  }
  Sort(&entries);
  return entries;
}

// The first entry at or after (key, version).
inline Entries::const_iterator Find(const Entries& entries, std::string_view key, Version version) {
  return std::partition_point(entries.begin(), entries.end(), [&](const OwnedEntry& entry) {
    return Compare(entry.key, entry.version, key, version) < 0;
  });
}

inline void ExpectOk(const Status& status) { EXPECT_TRUE(status.ok()) << status.ToString(); }

// A lookup's answer against the model's.
inline void ExpectAnswer(const Entries& entries, std::string_view key, Version version,
                         const LookupResult& result, const std::string& value) {
  const auto at = Find(entries, key, version);
  const bool found = at != entries.end() && at->key == key;
  ASSERT_EQ(result.found, found) << "key " << key << " at version " << version;
  if (!found) return;
  EXPECT_EQ(result.version, at->version);
  EXPECT_EQ(result.type, at->type);
  EXPECT_EQ(value, at->value);
}

// Walks to the end and compares everything on the way.
inline void ExpectRest(const Entries& entries, Entries::const_iterator at, EntryCursor* cursor) {
  for (; cursor->Valid(); cursor->Next(), ++at) {
    ASSERT_NE(at, entries.end());
    const Entry& entry = cursor->entry();
    ASSERT_EQ(entry.key, at->key);
    ASSERT_EQ(entry.version, at->version);
    ASSERT_EQ(entry.type, at->type);
    ASSERT_EQ(entry.value, at->value);
  }
  ExpectOk(cursor->status());
  ASSERT_EQ(at, entries.end());
}

inline void ExpectCursor(const Entries& entries, EntryCursor* cursor) {
  cursor->Seek({});
  ExpectRest(entries, entries.begin(), cursor);
  for (size_t i = 0; i < entries.size(); i += 1 + entries.size() / 50) {
    for (const std::string& key : {entries[i].key, entries[i].key + '\0', entries[i].key + "~"}) {
      cursor->Seek(key);
      const auto at = Find(entries, key, kNewest);
      ASSERT_EQ(cursor->Valid(), at != entries.end());
      if (!cursor->Valid()) continue;
      EXPECT_EQ(cursor->entry().key, at->key);
      EXPECT_EQ(cursor->entry().version, at->version);
      EXPECT_EQ(cursor->entry().value, at->value);
    }
  }
}

// Segments over files in memory.
class FunkTest : public ::testing::Test {
 protected:
  static constexpr const char* kDirectory = "/db";

  FunkTest() {
    ExpectOk(disk_.CreateDirectory(kDirectory));
    ExpectOk(disk_.SyncDirectory("/"));
    Reopen(true, 64);
  }
  void Reopen(bool direct, size_t max_open_files) {
    segments_ = std::make_unique<Segments>(&files_, kDirectory, direct, max_open_files, 1, 0);
    context_.segments = segments_.get();
  }

  SortedRunSummary Append(SegmentWriter* writer, const Entries& entries, size_t block_size = 512) {
    SortedRunBuilder builder(writer,
                             {.block_size = block_size, .filter_bits = 10, .keep_keys = true});
    for (const OwnedEntry& entry : entries) ExpectOk(builder.Add(entry.view()));
    SortedRunSummary summary;
    ExpectOk(builder.Finish(&summary));
    EXPECT_EQ(summary.extent.entries, entries.size());
    return summary;
  }
  // Each into one segment.
  std::vector<SortedRunSummary> Write(const std::vector<Entries>& runs, size_t block_size = 512) {
    std::unique_ptr<SegmentWriter> writer;
    ExpectOk(segments_->Create(&writer));
    std::vector<SortedRunSummary> summaries;
    for (const Entries& run : runs) summaries.push_back(Append(writer.get(), run, block_size));
    ExpectOk(writer->Finish(true));
    for (const SortedRunSummary& summary : summaries) segments_->AddLive(summary.extent);
    return summaries;
  }
  // Its blocks have equal lengths.
  static Entries EqualEntries() {
    Entries entries;
    for (uint64_t i = 0; i < 100; ++i) {
      entries.push_back(
          {Numbered("user", 100 + i), std::string(60, 'v'), 1 + i, EntryType::kValue});
    }
    return entries;
  }
  // A run whose blocks 1 and 2 changed places.
  SortedRunSummary WriteWithTwoBlocksSwapped(const Entries& entries) {
    SortedRunSummary summary = Write({entries})[0];
    const BlockRef first = summary.index->blocks[1], second = summary.index->blocks[2];
    EXPECT_EQ(first.length, second.length);
    const std::string path = segments_->PathOf(summary.extent.segment);
    std::string content;
    ExpectOk(kvdyno::ReadWholeFile(&disk_, path, &content));
    const auto at = [&](const BlockRef& block) {
      return content.begin() + static_cast<long>(summary.extent.offset + block.offset);
    };
    std::swap_ranges(at(first), at(second), at(second));
    std::unique_ptr<kvdyno::WritableFile> file;
    ExpectOk(disk_.Create(path, false, &file));
    ExpectOk(file->Append(content));
    return summary;
  }
  Status Lookup(const SortedRun& run, std::string_view key, Version version, std::string* value,
                LookupResult* result) {
    return run.Lookup(context_, key, kvdyno::Hash64(key), version, value, result);
  }
  std::shared_ptr<const SortedRun> Open(const SortedRunSummary& summary, bool with_index = true) {
    return std::make_shared<const SortedRun>(segments_.get(), summary.extent,
                                             with_index ? summary.index : nullptr);
  }

  kvdyno::testing::SimulatedFileSystem disk_{1};
  kvdyno::testing::FaultFileSystem files_{&disk_};
  std::unique_ptr<Segments> segments_;
  BlockCache cache_{256 << 10};
  ReadContext context_;
};

}  // namespace chunkstore::testing
