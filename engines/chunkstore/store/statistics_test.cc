// What a store reports about itself: statistics, properties, checksums.
#include <fstream>
#include <set>
#include <sstream>

#include "check/check.h"
#include "store/store_fixture.h"

namespace chunkstore {
namespace {

class StatisticsTest : public StoreTest {};

// Backticked words of a cell.
std::vector<std::string> Words(const std::string& cell) {
  std::vector<std::string> words;
  for (size_t at = 0; (at = cell.find('`', at)) != std::string::npos; ++at) {
    const size_t end = cell.find('`', at + 1);
    words.push_back(cell.substr(at + 1, end - at - 1));
    at = end;
  }
  return words;
}

TEST_F(StatisticsTest, Properties) {
  Open();
  PutShuffled(1000, 100, 8);
  Put(std::string("\0\xff\\", 3), "unprintable");
  ASSERT_TRUE(IsOk(store_->Compact()));
  std::string text;
  ASSERT_TRUE(store_->GetProperty("num-chunks", &text));
  EXPECT_EQ(std::stod(text), Stat("chunks"));
  ASSERT_TRUE(store_->GetProperty("chunks", &text));
  EXPECT_EQ(static_cast<double>(std::count(text.begin(), text.end(), '\n')), Stat("chunks"));
  ASSERT_TRUE(store_->GetProperty("stats", &text));
  EXPECT_EQ(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')),
            store_->GetStatistics().size());
  ASSERT_TRUE(store_->GetProperty("recovery", &text));
  EXPECT_TRUE(text.starts_with("closed properly")) << text;
  text = "untouched";
  for (const char* name : {"", "Stats", "options", "nothing"}) {
    EXPECT_FALSE(store_->GetProperty(name, &text)) << name;
  }
  EXPECT_EQ(text, "untouched");
}

// docs/chunkstore.md lists every statistic with unit and kind, and no other.
TEST_F(StatisticsTest, StatisticsAreTheDocumentedOnes) {
  std::ifstream file(CHUNKSTORE_DOCUMENT);
  ASSERT_TRUE(file.is_open()) << CHUNKSTORE_DOCUMENT;
  struct Documented {
    std::string unit;
    bool cumulative;
  };
  std::map<std::string, Documented> documented;
  for (const char* component :
       {"munk", "stage", "row_cache", "log", "table", "absent", "block_cache"}) {
    const std::string prefix(component);
    documented[prefix + "_gets"] = {"op", true};
    documented[prefix + "_get_bytes"] = {"byte", true};
    documented[prefix + "_get_p50_us"] = documented[prefix + "_get_p99_us"] = {"us", false};
  }
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) inside = line == "## Statistics";
    if (!inside || !line.starts_with("| `")) continue;
    const size_t end = line.find('|', 1);
    std::string cell = line.substr(end + 1, line.find('|', end + 1) - end - 1);
    std::erase(cell, ' ');
    std::vector<std::string> units;
    std::istringstream split(cell);
    for (std::string unit; std::getline(split, unit, ',');) units.push_back(unit);
    const bool level = units.back() == "L";
    if (level) units.pop_back();
    const std::vector<std::string> names = Words(line.substr(0, end));
    for (size_t i = 0; i < names.size(); ++i) {
      documented[names[i]] = {units[std::min(i, units.size() - 1)], !level};
    }
  }
  ASSERT_GT(documented.size(), 40U);

  Open();
  std::set<std::string> found;
  for (const Statistic& statistic : store_->GetStatistics()) {
    EXPECT_TRUE(found.insert(statistic.name).second) << statistic.name << " twice";
    const auto at = documented.find(statistic.name);
    if (at == documented.end()) {
      ADD_FAILURE() << statistic.name << " is not documented";
      continue;
    }
    EXPECT_EQ(statistic.unit, at->second.unit) << statistic.name;
    EXPECT_EQ(statistic.cumulative, at->second.cumulative) << statistic.name;
  }
  for (const auto& [name, unused] : documented) {
    EXPECT_TRUE(found.contains(name)) << name << " is documented only";
  }
}

TEST_F(StatisticsTest, CountsWhatTheApplicationDid) {
  Open();
  PutMany(0, 10, 20);
  Delete(KeyOf(0));
  WriteBatch batch;
  batch.Put("a", "1");
  batch.Delete("b");
  ASSERT_TRUE(IsOk(store_->Write(batch)));
  EXPECT_EQ(Stat("puts"), 13) << "operations, deletions and batches included";
  Get(KeyOf(1));
  Get("absent");
  EXPECT_EQ(Stat("stage_gets"), 1);
  EXPECT_EQ(Stat("stage_get_bytes"), 21);
  EXPECT_EQ(Stat("absent_gets"), 1);
  ScanAll();
  ScanAll(nullptr, true);
  EXPECT_EQ(Stat("scans"), 2);
  EXPECT_EQ(Stat("scan_rows"), 20);
}

TEST_F(StatisticsTest, MemoryIsTheSumOfItsParts) {
  Open();
  PutShuffled(2000, 100, 2);
  ExpectAll();
  ASSERT_TRUE(IsOk(store_->Flush()));
  double sum = 0;
  for (const char* name :
       {"munk_bytes", "row_cache_bytes", "block_cache_bytes", "stage_bytes", "index_bytes"}) {
    sum += Stat(name);
  }
  EXPECT_EQ(Stat("memory_bytes"), sum);
  EXPECT_LE(Stat("memory_bytes"), Stat("memory_budget"));
  EXPECT_EQ(Stat("memory_budget"), Options::kLeastBudget);
}

TEST_F(StatisticsTest, VerifyChecksumsReadsEveryBlockAndReportsDamage) {
  options_.munk_cache_size = options_.row_cache_size = options_.block_cache_size = 0;
  Open();
  PutShuffled(1000, 100, 6);
  ASSERT_TRUE(IsOk(store_->Flush()));
  CheckReport report;
  ASSERT_TRUE(IsOk(store_->VerifyChecksums(&report)));
  EXPECT_EQ(report.files, static_cast<uint64_t>(Stat("segments")));
  EXPECT_GE(report.entries, rows_.size());
  EXPECT_GT(report.blocks, report.entries * 100 / (2 * options_.block_size));
  EXPECT_TRUE(report.problems.empty());

  std::vector<std::string> names;
  ASSERT_TRUE(IsOk(files_.List(kDirectory, &names)));
  for (const std::string& name : names) {
    if (!name.starts_with("segment-")) continue;
    uint64_t size = 0;
    ASSERT_TRUE(IsOk(files_.Size(std::string("/store/").append(name), &size)));
    for (uint64_t at = 100; at < size; at += 5000) {
      ASSERT_TRUE(IsOk(files_.Flip(std::string("/store/").append(name), at * 8)));
    }
  }
  CheckReport damaged;
  ASSERT_TRUE(IsOk(store_->VerifyChecksums(&damaged))) << "the report has it";
  ASSERT_FALSE(damaged.problems.empty());
  EXPECT_NE(damaged.problems.front().find("/store/segment-"), std::string::npos)
      << damaged.problems.front();
  int corrupt = 0;
  for (const auto& [key, value] : rows_) {
    std::string found;
    const Status status = store_->Get(key, &found);
    if (status.ok()) {
      EXPECT_EQ(found, value);
    } else {
      EXPECT_EQ(status.code(), Code::kCorruption) << status.ToString();
      ++corrupt;
    }
  }
  EXPECT_GT(corrupt, 0);
}

}  // namespace
}  // namespace chunkstore
