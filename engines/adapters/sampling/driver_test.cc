// The whole driver inside the test program, and what it leaves behind.
#include "driver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
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

TEST_F(SamplingDriver, RefusesWhatCannotWork) {
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {"sampling.scale_factor=1", "sampling.scale_factor"},
      {"sampling.max_deleted=0", "sampling.max_deleted"},
      {"sampling.max_deleted=nan", "sampling.max_deleted"},
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

TEST(SamplingData, FollowsItsSeed) {
  Settings settings;
  settings.records = 1000;
  const Data data = Data::Draw(settings);
  const Data again = Data::Draw(settings);
  EXPECT_TRUE(std::equal(data.updates().begin(), data.updates().end(), again.updates().begin(),
                         again.updates().end()));
  settings.seed = 2;
  const Data other = Data::Draw(settings);
  EXPECT_FALSE(std::equal(data.updates().begin(), data.updates().end(), other.updates().begin(),
                          other.updates().end()));
}

TEST(SamplingData, WeightsAreTheKind) {
  Settings settings;
  settings.records = 1000;
  settings.delete_share = 0;
  for (const char* weights : {"unit", "pareto-2.5", "pareto-1.2", "giant"}) {
    settings.weights = weights;
    const Data data = Data::Draw(settings);
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

}  // namespace
}  // namespace kvdyno::sampler
