#include "kvdyno/rocksdb/options.h"

#include <gtest/gtest.h>
#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksdb/version.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <memory>

namespace kvdyno::rocks {

namespace {

namespace fs = std::filesystem;

class RocksOptions : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    options_.Describe(&table_);
  }
  void TearDown() override { fs::remove_all(directory_); }

  void Set(const std::string& name, const std::string& text) {
    const Status set = table_.Set(name, text);
    ASSERT_TRUE(set.ok()) << set.ToString();
  }

  // The option file that RocksDB itself writes for a store with these options.
  std::string FileOf(const rocksdb::Options& options) {
    rocksdb::Options creating = options;
    creating.create_if_missing = true;
    rocksdb::DB* db = nullptr;
    EXPECT_TRUE(rocksdb::DB::Open(creating, directory_, &db).ok());
    delete db;
    std::string found;
    for (const auto& entry : fs::directory_iterator(directory_)) {
      const std::string name = entry.path().filename();
      if (name.starts_with("OPTIONS-")) found = entry.path();
    }
    EXPECT_FALSE(found.empty());
    return found;
  }

  std::string directory_ = fs::temp_directory_path() / "kvdyno-rocksdb-XXXXXX";
  Options options_;
  OptionTable table_;
};

std::string Text(const rocksdb::Options& options) {
  std::string db, family;
  EXPECT_TRUE(rocksdb::GetStringFromDBOptions(&db, options).ok());
  EXPECT_TRUE(rocksdb::GetStringFromColumnFamilyOptions(&family, options).ok());
  return db + family;
}

TEST_F(RocksOptions, DefaultsAreTheLibrarysWithoutCompression) {
  rocksdb::Options ours;
  ASSERT_TRUE(options_.Translate(&ours).ok());
  rocksdb::Options theirs;
  theirs.compression = rocksdb::kNoCompression;
  EXPECT_EQ(Text(ours), Text(theirs));

  const auto* table = theirs.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
  ASSERT_NE(table, nullptr);
  const auto* our_table = ours.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
  ASSERT_NE(our_table, nullptr);
  // Capacity, shards and the share for blocks that were hit before, in RocksDB's own words.
  EXPECT_EQ(our_table->block_cache->GetPrintableOptions(),
            table->block_cache->GetPrintableOptions());
}

TEST_F(RocksOptions, ValuesReachTheLibrary) {
  Set("write_buffer_size", "1MiB");
  Set("use_direct_reads", "true");
  Set("bloom_bits", "10");
  Set("block_size", "8KiB");
  Set("compression", "lz4");
  rocksdb::Options translated;
  ASSERT_TRUE(options_.Translate(&translated).ok());
  EXPECT_EQ(translated.write_buffer_size, kMiB);
  EXPECT_TRUE(translated.use_direct_reads);
  EXPECT_EQ(translated.compression, rocksdb::kLZ4Compression);
  const auto* table = translated.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
  EXPECT_EQ(table->block_size, 8 * kKiB);
  EXPECT_NE(table->filter_policy, nullptr);
}

TEST_F(RocksOptions, AdviceHasItsEffectAndTheRecordShowsIt) {
  Set("increase_parallelism", "true");
  Set("optimize_level_style_compaction", "true");
  rocksdb::Options ours;
  ASSERT_TRUE(options_.Translate(&ours).ok());
  rocksdb::Options theirs;
  theirs.compression = rocksdb::kNoCompression;
  theirs.IncreaseParallelism();
  theirs.OptimizeLevelStyleCompaction();
  EXPECT_EQ(Text(ours), Text(theirs));

  const auto values = table_.Values();
  EXPECT_EQ(values.at("max_background_jobs"), std::to_string(theirs.max_background_jobs));
  EXPECT_EQ(values.at("write_buffer_size"), "128MiB");
  EXPECT_EQ(values.at("level0_file_num_compaction_trigger"), "2");
  EXPECT_NE(values.at("compression"), "no");
}

// As the property file that comes with YCSB-cpp is written, and the words that its binding takes
// for the default.
TEST_F(RocksOptions, YcsbsValuesAreTaken) {
  for (const char* name :
       {"max_background_jobs", "target_file_size_base", "cache_size", "target_file_size_multiplier",
        "max_bytes_for_level_base", "write_buffer_size", "max_write_buffer_number",
        "max_open_files", "level0_file_num_compaction_trigger", "level0_slowdown_writes_trigger",
        "level0_stop_writes_trigger", "bloom_bits", "compressed_cache_size"}) {
    Set(name, "0");
  }
  Set("compaction_pri", "-1");
  for (const char* name :
       {"use_direct_io_for_flush_compaction", "use_direct_reads", "allow_mmap_writes",
        "allow_mmap_reads", "increase_parallelism", "optimize_level_style_compaction"}) {
    Set(name, "false");
  }
  OptionTable untouched;
  Options defaults;
  defaults.Describe(&untouched);
  EXPECT_EQ(table_.Values(), untouched.Values());

  Set("compression", "snappy");
  Set("target_file_size_base", "67108864");
  Set("max_open_files", "-1");
  rocksdb::Options translated;
  ASSERT_TRUE(options_.Translate(&translated).ok());
  EXPECT_EQ(translated.target_file_size_base, 64 * kMiB);
}

#if ROCKSDB_MAJOR < 8
TEST_F(RocksOptions, CompressedBlocksHaveTheirOwnCache) {
  Set("compressed_cache_size", "3MiB");
  rocksdb::Options translated;
  ASSERT_TRUE(options_.Translate(&translated).ok());
  const auto* table = translated.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
  ASSERT_NE(table->block_cache_compressed, nullptr);
  EXPECT_EQ(table->block_cache_compressed->GetCapacity(), 3 * kMiB);
}
#endif

TEST_F(RocksOptions, FileReplacesOptionsAndTheRecordShowsIt) {
  Set("write_buffer_size", "3MiB");
  Set("level0_stop_writes_trigger", "50");
  Set("bloom_bits", "12");
  Set("compression", "zstd");
  Set("compaction_pri", "1");
  Set("max_bytes_for_level_multiplier", "7.5");
  rocksdb::Options written;
  ASSERT_TRUE(options_.Translate(&written).ok());
  auto expected = table_.Values();
  const std::string file = FileOf(written);

  Options from_file;
  OptionTable table;
  from_file.Describe(&table);
  ASSERT_TRUE(table.Set("optionsfile", file).ok());
  ASSERT_TRUE(table.Set("write_buffer_size", "99MiB").ok());
  ASSERT_TRUE(table.Set("cache_size", "16MiB").ok());
  rocksdb::Options read;
  const Status translated = from_file.Translate(&read);
  ASSERT_TRUE(translated.ok()) << translated.ToString();

  EXPECT_EQ(read.write_buffer_size, 3 * kMiB);
  expected["optionsfile"] = file;
  expected["cache_size"] = "16MiB";
  EXPECT_EQ(table.Values(), expected);
}

TEST_F(RocksOptions, BadFilesAreRefused) {
  const std::string file = directory_ + "/options.ini";
  for (const std::string content : {"", "write_buffer_size=1\n", "[Version]\n[DBOptions]\n"}) {
    std::ofstream(file) << content;
    Set("optionsfile", file);
    rocksdb::Options translated;
    const Status status = options_.Translate(&translated);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_NE(status.message().find(file), std::string::npos) << status.message();
  }
  Set("optionsfile", directory_ + "/absent.ini");
  rocksdb::Options translated;
  EXPECT_EQ(options_.Translate(&translated).code(), Code::kInvalidArgument);
}

}  // namespace

}  // namespace kvdyno::rocks
