// The whole driver inside the test program, and what it leaves behind.
#include "driver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "data.h"
#include "testing/program_fixture.h"

namespace kvdyno::sampler {
namespace {

using nlohmann::json;

class SamplingDriver : public ProgramFixture {
 protected:
  SamplingDriver() : ProgramFixture("kvdyno-sampling", DriverMain) {}

  // Few records and queries; later properties win.
  int DriveFew(const std::vector<std::string>& properties) {
    std::vector<std::string> all = {"records=5000", "queries=20", "k=50",
                                    "sampling.buffer_records=200"};
    all.insert(all.end(), properties.begin(), properties.end());
    return Drive({}, all);
  }
};

TEST_F(SamplingDriver, CountsEveryOperation) {
  ASSERT_EQ(DriveFew({}), 0) << errors_;
  EXPECT_EQ(PhaseNames(), (std::vector<std::string>{"load", "update", "settle", "run", "sample"}));
  EXPECT_EQ(MetricOf("load", "insert.operations"), 500);
  EXPECT_EQ(MetricOf("run", "insert.operations"), 4500);
  EXPECT_GT(MetricOf("run", "delete.operations"), 0);
  EXPECT_EQ(MetricOf("sample", "engine.records"), 5000 - MetricOf("run", "delete.operations"));
  EXPECT_EQ(MetricOf("sample", "sample.operations"), 20);
  EXPECT_EQ(MetricOf("sample", "sample.rows"), 20 * 50);
  EXPECT_EQ(MetricOf("sample", "engine.accepted"), 20 * 50);
  for (const char* file : {"series.csv", "events.csv", "latency.hlog"}) {
    EXPECT_TRUE(std::filesystem::exists(root_ + "/output/" + file)) << file;
  }
}

TEST_F(SamplingDriver, EverySamplerAndPolicyEndsWithTheSameRecords) {
  std::set<double> records;
  for (const char* sampler :
       {"static-alias", "fenwick-tree", "aggregate-tree", "reservoir", "index"}) {
    ASSERT_EQ(DriveFew({std::string("sampling.sampler=") + sampler}), 0) << errors_;
    records.insert(MetricOf("sample", "engine.records"));
  }
  for (const char* layout : {"leveling", "tiering"}) {
    for (const char* search : {"true", "false"}) {
      ASSERT_EQ(DriveFew({std::string("sampling.layout=") + layout, "sampling.deletes=tombstones",
                          std::string("sampling.search_deletes=") + search}),
                0)
          << errors_;
      records.insert(MetricOf("sample", "engine.records"));
    }
  }
  EXPECT_EQ(records.size(), 1u);
}

TEST_F(SamplingDriver, SamplersWorkBesideTheWriter) {
  ASSERT_EQ(
      DriveFew({"update.samplers=1", "threadcount=2", "records=50000", "sampling.background=true"}),
      0)
      << errors_;
  EXPECT_GT(MetricOf("update", "sample.operations"), 0);
  EXPECT_EQ(MetricOf("sample", "sample.operations"), 20);
}

TEST_F(SamplingDriver, QueriesOfAnOpenLoopStartWhenTheyAreMeantTo) {
  for (const char* arrivals : {"arrivals=constant", "arrivals=poisson"}) {
    ASSERT_EQ(DriveFew({"queries=100", "target=200", arrivals, "threadcount=2"}), 0) << errors_;
    const double seconds = Phase("sample")["seconds"];
    EXPECT_GE(seconds, 0.3) << "100 starts at 200 a second";
    EXPECT_EQ(MetricOf("sample", "sample.operations"), 100);
    EXPECT_EQ(MetricOf("sample", "arrivals.missed"), 0);
    EXPECT_LE(MetricOf("sample", "sample.service.mean"), MetricOf("sample", "sample.latency.mean"));
    EXPECT_FALSE(Phase("update")["metrics"].contains("insert.service.mean")) << "a closed loop";
  }
  ASSERT_EQ(DriveFew({}), 0) << errors_;
  EXPECT_FALSE(Phase("sample")["metrics"].contains("sample.service.mean"));
  EXPECT_FALSE(Phase("sample")["metrics"].contains("arrivals.missed"));
}

// Each query of the naive sampler reads all records, so that one thread cannot keep up.
TEST_F(SamplingDriver, LatencyCountsFromTheIntendedStart) {
  ASSERT_EQ(DriveFew({"records=200000", "sampling.sampler=reservoir", "target=1e6"}), 0) << errors_;
  EXPECT_EQ(MetricOf("sample", "sample.operations"), 20) << "all of them, however late";
  EXPECT_GE(MetricOf("sample", "sample.latency.max"),
            10 * MetricOf("sample", "sample.service.p50"));
}

TEST_F(SamplingDriver, TheWriterOfAnOpenLoopKeepsItsPace) {
  ASSERT_EQ(DriveFew({"update.target=20000"}), 0) << errors_;
  const double seconds = Phase("update")["seconds"];
  EXPECT_GE(seconds, MetricOf("update", "operations") / 20000 * 0.95);
  EXPECT_GT(MetricOf("update", "insert.service.mean"), 0);
  EXPECT_GT(MetricOf("update", "delete.service.mean"), 0);
  EXPECT_FALSE(Phase("load")["metrics"].contains("insert.service.mean"));
  EXPECT_EQ(MetricOf("update", "arrivals.missed"), 0);
}

TEST_F(SamplingDriver, QueriesThatNoSamplerCameToAreCounted) {
  ASSERT_EQ(DriveFew({"update.samplers=1", "target=1e7", "update.target=20000"}), 0) << errors_;
  const double due = Phase("update")["seconds"].get<double>() * 1e7;
  const double met = MetricOf("update", "sample.operations");
  EXPECT_GT(met, 0);
  EXPECT_NEAR(met + MetricOf("update", "arrivals.missed"), due, due * 0.1);
  EXPECT_EQ(MetricOf("sample", "arrivals.missed"), 0) << "phase sample ends with its queries";
}

TEST_F(SamplingDriver, AProbeSeesThatDrawsComeThrough) {
  const std::vector<std::string> slow = {"update.target=20000", "probe.interval=1ms",
                                         "probe.threshold=1us"};
  ASSERT_EQ(DriveFew(slow), 0) << errors_;
  EXPECT_GT(MetricOf("update", "probe.latency.max"), 0);
  EXPECT_GT(MetricOf("run", "probe.latency.max"), 0) << "a span has its phase's";
  EXPECT_NE(Output("events.csv").find("probe"), std::string::npos);
  EXPECT_NE(Output("latency.hlog").find("Tag=update.probe"), std::string::npos);
}

TEST_F(SamplingDriver, RangesOfEveryStructure) {
  for (const char* structure : {"weighted-set", "uniform-range", "weighted-range"}) {
    ASSERT_EQ(DriveFew({std::string("sampling.structure=") + structure, "range.share=0.1"}), 0)
        << errors_;
    EXPECT_GT(MetricOf("sample", "sample.rows"), 0);
  }
}

// A cap of 4 MiB for records of 5 MB, in files that go when the run ends.
TEST_F(SamplingDriver, ExternalStorageHoldsShardsInFilesUnderItsCap) {
  const std::vector<std::string> external = {
      "records=200000",          "sampling.storage=external", "sampling.buffer_records=2000",
      "sampling.scale_factor=2", "sampling.memory_levels=1",  "sampling.memory_bytes=4MiB"};
  for (const char* deletes : {"tagging", "tombstones"}) {
    std::vector<std::string> properties = external;
    properties.push_back(std::string("sampling.deletes=") + deletes);
    ASSERT_EQ(DriveFew(properties), 0) << errors_;
    EXPECT_EQ(MetricOf("sample", "engine.records"), 200000 - MetricOf("run", "delete.operations"));
    EXPECT_EQ(MetricOf("sample", "sample.rows"), 20 * 50);
    EXPECT_GT(MetricOf("sample", "engine.disk"), 4 << 20);
    EXPECT_LE(MetricOf("sample", "engine.memory"), 4 << 20);
    EXPECT_GT(MetricOf("sample", "engine.pages_read"), 0);
    EXPECT_GT(MetricOf("sample", "engine.page_hits"), 0);
    EXPECT_GE(MetricOf("run", "engine.pages_written"),
              MetricOf("sample", "engine.disk") / 4096 / 2);
    EXPECT_EQ(MetricOf("sample", "engine.pages_written"), 0);
    std::set<std::string> left;
    for (const auto& entry : std::filesystem::directory_iterator(root_ + "/data"))
      left.insert(entry.path().filename());
    EXPECT_EQ(left, (std::set<std::string>{"LOCK"}));
  }
  ASSERT_EQ(DriveFew({}), 0) << errors_;
  EXPECT_EQ(MetricOf("sample", "engine.disk"), 0);
  EXPECT_EQ(MetricOf("run", "engine.pages_written"), 0);
}

TEST_F(SamplingDriver, ExternalStorageFailsWithTheReason) {
  EXPECT_EQ(DriveFew({"sampling.storage=external", "sampling.memory_bytes=1MiB"}), 2);
  EXPECT_NE(errors_.find("memory_bytes: expected at least"), std::string::npos) << errors_;
  EXPECT_EQ(OutcomeJson()["status"], "failed");

  // What shards on disk keep in memory grows with the records.
  EXPECT_EQ(DriveFew({"records=300000", "sampling.storage=external", "sampling.buffer_records=2000",
                      "sampling.scale_factor=2", "sampling.memory_levels=0",
                      "sampling.memory_bytes=1300000"}),
            2);
  EXPECT_NE(errors_.find("expected the index to fit into memory_bytes"), std::string::npos)
      << errors_;
}

// The updates alone must fit, when the records lie on disk.
TEST_F(SamplingDriver, ExternalStorageNeedsLessOfTheCap) {
  const std::vector<std::string> tight = {"records=200000", "memory.cap=8MiB"};
  EXPECT_EQ(DriveFew(tight), 1);
  EXPECT_NE(errors_.find("records: expected so many that they fit"), std::string::npos) << errors_;
  std::vector<std::string> external = tight;
  external.insert(external.end(), {"sampling.storage=external", "sampling.memory_levels=0",
                                   "sampling.memory_bytes=3MiB", "sampling.buffer_records=2000"});
  EXPECT_EQ(DriveFew(external), 0) << errors_;
}

TEST_F(SamplingDriver, RefusesWhatCannotWork) {
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {"sampling.scale_factor=1", "sampling.scale_factor"},
      {"sampling.max_deleted=0", "sampling.max_deleted"},
      {"sampling.max_deleted=nan", "sampling.max_deleted"},
      {"sampling.storage=disk", "sampling.storage"},
      {"sampling.memory_levels=21", "sampling.memory_levels"},
      {"sampling.memory_bytes=0", "sampling.memory_bytes"},
      {"k=0", "k: "},
      {"records=0", "records"},
      {"weights=heavy", "weights"},
      {"target=-1", "target"},
      {"update.target=nan", "update.target"},
      {"delete.share=0.9", "delete.share"},
      {"record=5", "did you mean 'records'"},
      {"memory.cap=1KiB", "records: expected so many that they fit"},
  };
  for (const auto& [property, words] : mistakes) {
    EXPECT_EQ(DriveFew({property}), 1) << property;
    EXPECT_NE(errors_.find(words), std::string::npos) << property << ": " << errors_;
  }
  for (const char* thread : {"threadcount=2", "update.samplers=1", "probe.interval=1s"}) {
    EXPECT_EQ(DriveFew({"sampling.sampler=fenwick-tree", thread}), 1);
    EXPECT_NE(errors_.find("serves one thread"), std::string::npos) << errors_;
  }
  EXPECT_EQ(DriveWith({"-p", "records=5"}), 1);
  EXPECT_NE(errors_.find("data.dir"), std::string::npos) << errors_;
  EXPECT_EQ(DriveWith({"--draw", "5"}), 1);  // a flag of workloads of keys and values
  EXPECT_FALSE(std::filesystem::exists(root_ + "/output"));
}

TEST_F(SamplingDriver, DescribesItself) {
  ASSERT_EQ(DriveWith({"--describe"}), 0);
  const json description = json::parse(output_);
  EXPECT_EQ(description["driver"]["name"], "sampling");
  EXPECT_EQ(description["operations"], (json{"insert", "delete", "sample"}));
  ASSERT_EQ(DriveWith({"--help"}), 0);
  EXPECT_EQ(output_.find("YCSB"), std::string::npos) << output_;
}

class SamplingFile : public SamplingDriver {
 protected:
  std::string Write(const std::string& text) {
    const std::string path = root_ + "/records.csv";
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  std::string errors(const std::string& text, int64_t records = 2) {
    EXPECT_EQ(DriveFew({"records.file=" + Write(text), "records=" + std::to_string(records)}), 2);
    return errors_;
  }
};

TEST_F(SamplingFile, RowsAreInsertedInTheirOrder) {
  const std::string path = Write(
      "\xEF\xBB\xBFname,weight,\"key\",value\r\n\"a, \"\"b\"\"\",2.5,7,1\r\n\r\nc,0,"
      "18446744073709551615,2\r\nd,1e3,8,3\r\n");
  Settings settings;
  settings.records_file = path;
  settings.records = 3;
  settings.load_share = 1;
  Data data;
  ASSERT_TRUE(Data::Draw(settings, &data).ok());
  const std::vector<sampling::Record> expected = {{7, 1, 2.5}, {UINT64_MAX, 2, 0}, {8, 3, 1000}};
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), data.load().begin(), data.load().end()));
  ASSERT_EQ(DriveFew({"records.file=" + path, "records=2"}), 0) << errors_ << "the first rows";
  EXPECT_EQ(MetricOf("load", "insert.operations") + MetricOf("run", "insert.operations"), 2);
}

TEST_F(SamplingFile, DamageIsNamedWithItsLine) {
  const std::string head = "key,value,weight\n1,1,1\n";
  EXPECT_NE(
      errors("key,value\n1,1\n").find("records.csv:1: expected a column weight, got key,value"),
      std::string::npos)
      << errors_;
  for (const char* weight : {"nan", "-1", "inf", "heavy", "", "1e300", "1 "}) {
    EXPECT_NE(errors(head + "2,2," + weight + "\n").find("records.csv:3, column weight"),
              std::string::npos)
        << errors_;
  }
  for (const char* key : {"x", "-1", "1.5", "18446744073709551616", ""}) {
    EXPECT_NE(errors(head + key + ",2,1\n").find("records.csv:3, column key"), std::string::npos)
        << errors_;
  }
  EXPECT_NE(errors(head + "2,2\n").find("records.csv:3: expected 3 fields or more, got 2"),
            std::string::npos)
      << errors_;
  EXPECT_NE(errors(head + "1,1,5\n").find("each pair of key and value once, got 1, 1 twice"),
            std::string::npos)
      << errors_;
  EXPECT_NE(errors(head, 5).find("expected at most the rows of"), std::string::npos) << errors_;
  EXPECT_NE(errors("").find("a line of names"), std::string::npos) << errors_;
  EXPECT_EQ(DriveFew({"records.file=/nonexistent.csv"}), 2);
  EXPECT_NE(errors_.find("expected a readable file"), std::string::npos) << errors_;
  EXPECT_EQ(OutcomeJson()["status"], "failed");
}

Data Drawn(const Settings& settings) {
  Data data;
  EXPECT_TRUE(Data::Draw(settings, &data).ok());
  return data;
}

TEST(SamplingData, FollowsItsSeed) {
  Settings settings;
  settings.records = 1000;
  const Data data = Drawn(settings);
  const Data again = Drawn(settings);
  EXPECT_TRUE(std::equal(data.updates().begin(), data.updates().end(), again.updates().begin(),
                         again.updates().end()));
  settings.seed = 2;
  const Data other = Drawn(settings);
  EXPECT_FALSE(std::equal(data.updates().begin(), data.updates().end(), other.updates().begin(),
                          other.updates().end()));
}

TEST(SamplingData, WeightsAreTheKind) {
  Settings settings;
  settings.records = 1000;
  settings.delete_share = 0;
  for (const char* weights : {"unit", "pareto-2.5", "pareto-1.2", "giant"}) {
    settings.weights = weights;
    const Data data = Drawn(settings);
    double sum = 0;
    double largest = 0;
    for (const auto part : {data.load(), data.updates()}) {
      for (const sampling::Record& record : part) {
        EXPECT_GE(record.weight, 1);
        sum += record.weight;
        largest = std::max(largest, record.weight);
      }
    }
    if (settings.weights == "unit") {
      EXPECT_EQ(sum, 1000);
    } else if (settings.weights == "giant") {
      EXPECT_EQ(largest, sum / 2);
    } else {
      EXPECT_GT(largest, 5);
    }
  }
}

// Kolmogorov and Smirnov: the largest distance between the sample's distribution and F, times the root
// of n, exceeds 1.95 once in a thousand times.
double Distance(std::vector<double> sample, const std::function<double(double)>& distribution) {
  std::sort(sample.begin(), sample.end());
  const auto n = static_cast<double>(sample.size());
  double largest = 0;
  for (size_t i = 0; i < sample.size(); ++i) {
    const double f = distribution(sample[i]);
    largest = std::max({largest, std::abs(f - static_cast<double>(i) / n),
                        std::abs(f - static_cast<double>(i + 1) / n)});
  }
  return largest * std::sqrt(n);
}

TEST(SamplingData, WeightsHaveTheirDistribution) {
  for (const auto& [weights, exponent] :
       {std::pair<const char*, double>{"pareto-2.5", 2.5}, {"pareto-1.2", 1.2}}) {
    Settings settings;
    settings.records = 100'000;
    settings.weights = weights;
    settings.delete_share = 0;
    const Data data = Drawn(settings);
    std::vector<double> sample;
    for (const sampling::Record& record : data.updates()) sample.push_back(record.weight);
    const auto pareto = [&](double e) { return [e](double x) { return 1 - std::pow(x, -e); }; };
    EXPECT_LT(Distance(sample, pareto(exponent)), 1.95) << weights;
    EXPECT_GT(Distance(sample, pareto(exponent + 0.05)), 1.95) << "the test sees another exponent";
  }
}

TEST(SamplingData, KeysAreLatitudesOfTheMixture) {
  Settings settings;
  settings.records = 100'000;
  settings.delete_share = 0;
  const Data data = Drawn(settings);
  std::vector<double> sample;
  for (const sampling::Record& record : data.updates()) {
    sample.push_back(static_cast<double>(record.key) / 1e7 - 180);
  }
  const auto mixture = [](double x) {
    double sum = 0;
    for (int i = 0; i < 12; ++i) sum += 0.5 * std::erfc((i * 10 - 40 - x) / 4 / std::sqrt(2.0));
    return sum / 12;
  };
  EXPECT_LT(Distance(sample, mixture), 1.95);
}

TEST(SamplingData, DeletesAreTheirShareAndTakeEachLiveRecordOnce) {
  for (const double share : {0.05, 0.25}) {
    Settings settings;
    settings.records = 50'000;
    settings.delete_share = share;
    const Data data = Drawn(settings);
    std::set<uint64_t> live;
    for (const sampling::Record& record : data.load()) live.insert(record.value);
    double deletes = 0;
    for (const sampling::Record& update : data.updates()) {
      if (!Data::Deletes(update)) {
        EXPECT_TRUE(live.insert(update.value).second);
      } else {
        EXPECT_EQ(live.erase(update.value), 1u);
        ++deletes;
      }
    }
    const auto all = static_cast<double>(data.updates().size());
    const double deviation = std::sqrt(all * share * (1 - share));
    EXPECT_NEAR(deletes, all * share, 4 * deviation);
  }
}

}  // namespace
}  // namespace kvdyno::sampler
