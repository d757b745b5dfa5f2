// The driver as a whole: phases, counts, limits, failures, and what is left behind.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "testing/driver_fixture.h"

namespace kvdyno {
namespace {

using Names = std::vector<std::string>;

class Driver : public DriverFixture {};

TEST_F(Driver, RunsAllPhasesAndSpansInOrder) {
  ASSERT_EQ(
      Drive({"-load", "-run"}, {"recordcount=100", "operationcount=50", "warmup.operations=20"}),
      0);
  EXPECT_EQ(PhaseNames(),
            (Names{"load", "settle", "build", "warmup", "rest", "measure", "drain", "run"}));
  EXPECT_EQ(engine_.calls["settle"], 3u);
  EXPECT_EQ(engine_.calls["close"], 1u);
  EXPECT_EQ(Phase("run")["covers"], (Names{"measure", "drain"}));
  EXPECT_EQ(Phase("build")["covers"], (Names{"load", "settle"}));
  EXPECT_EQ(MetricOf("load", "operations"), 100);
  EXPECT_EQ(MetricOf("warmup", "operations"), 20);
  EXPECT_EQ(MetricOf("measure", "operations"), 50);
  const auto seconds = [&](const char* phase) { return Phase(phase)["seconds"].get<double>(); };
  EXPECT_GE(seconds("run"), seconds("measure") + seconds("drain")) << "nothing between is free";
  EXPECT_TRUE(Phase("drain")["metrics"].contains("disk.used"));
  EXPECT_TRUE(Phase("run")["metrics"].contains("disk.used"));
  EXPECT_GT(MetricOf("load", "open.seconds"), 0);
  EXPECT_FALSE(Phase("measure")["metrics"].contains("open.seconds"));
  EXPECT_FALSE(Phase("build")["metrics"].contains("open.seconds"));
  EXPECT_FALSE(Phase("measure")["metrics"].contains("disk.used")) << "no walk before drain";
  EXPECT_EQ(OutcomeJson()["status"], "ok");
}

// Any engine's driver can be asked which keys and operations its mix chooses.
TEST_F(Driver, PrintsWhatTheMixDrawsWithoutRunning) {
  ASSERT_EQ(DriveWith({"--draw", "4000", "-p", "recordcount=10", "-p", "readproportion=0.5", "-p",
                       "updateproportion=0.5", "-p", "requestdistribution=uniform"}),
            0);
  EXPECT_EQ(engine_.calls["open"], 0u);
  std::istringstream lines(output_);
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(line, "what,name,times");
  std::map<std::string, uint64_t> sums;
  std::set<std::string> keys;
  while (std::getline(lines, line)) {
    const std::string what = line.substr(0, line.find(','));
    sums[what] += std::stoull(line.substr(line.rfind(',') + 1));
    if (what == "key") keys.insert(line);
  }
  EXPECT_EQ(sums["operation"], 4000u);
  EXPECT_EQ(sums["key"], 4000u);
  EXPECT_EQ(keys.size(), 10u);
}

TEST_F(Driver, DrawsNeedACount) {
  EXPECT_EQ(DriveWith({"--draw", "many"}), 1);
  EXPECT_NE(errors_.find("--draw: expected a count of draws, got 'many'"), std::string::npos);
}

TEST_F(Driver, PhasesCanBeLeftOut) {
  ASSERT_EQ(Drive({"-load"}, {"settle=false"}), 0);
  EXPECT_EQ(PhaseNames(), (Names{"load", "build"}));
  EXPECT_EQ(Phase("build")["covers"], Names{"load"});
  ASSERT_EQ(
      Drive({"-run"}, {"operationcount=5", "drain=false", "warmup.operations=5", "rest=false"}), 0);
  EXPECT_EQ(PhaseNames(), (Names{"warmup", "measure", "run"}));
  EXPECT_EQ(Phase("run")["covers"], Names{"measure"});
  EXPECT_EQ(Phase("run")["seconds"], Phase("measure")["seconds"]);
  EXPECT_EQ(engine_.calls["settle"], 0u);
}

TEST_F(Driver, AnEngineThatCannotSettleHasNoSuchPhases) {
  engine_.can_settle = false;
  ASSERT_EQ(Drive({"-load", "-run"}, {"recordcount=10", "operationcount=5"}), 0);
  EXPECT_EQ(PhaseNames(), (Names{"load", "build", "measure", "run"}));
  ASSERT_EQ(DriveWith({"--describe"}), 0);
  EXPECT_EQ(nlohmann::json::parse(output_)["phases"],
            (Names{"load", "build", "warmup", "measure", "run"}));
  EXPECT_EQ(nlohmann::json::parse(output_)["accepts_other_options"], false);
}

TEST_F(Driver, ASpanPaysForTheWorkLeftForLater) {
  engine_.hook = [](std::string_view call, std::string_view) {
    if (call == "settle") std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return Status::Ok();
  };
  ASSERT_EQ(Drive({"-load"}, {"recordcount=100"}), 0);
  EXPECT_GE(Phase("settle")["seconds"].get<double>(), 0.05);
  EXPECT_LE(MetricOf("build", "throughput"), 100 / 0.05);
  EXPECT_GT(MetricOf("load", "throughput"), MetricOf("build", "throughput"));
}

TEST_F(Driver, LoadsExactlyTheRecordsInOrder) {
  ASSERT_EQ(Drive({"-load"}, {"recordcount=1000", "insertstart=7"}), 0);
  ASSERT_EQ(engine_.inserted.size(), 1000u);
  EXPECT_EQ(engine_.inserted.front(), "user0000000007");
  EXPECT_EQ(engine_.inserted.back(), "user0000001006");
  EXPECT_TRUE(std::is_sorted(engine_.inserted.begin(), engine_.inserted.end()));
  EXPECT_EQ(engine_.rows["user0000000007"].size(), 800u);
}

TEST_F(Driver, HashedOrderInsertsTheSameKeys) {
  ASSERT_EQ(Drive({"-load"}, {"recordcount=1000", "insertorder=hashed"}), 0);
  const std::set<std::string> keys(engine_.inserted.begin(), engine_.inserted.end());
  EXPECT_EQ(keys.size(), 1000u);
  EXPECT_EQ(*keys.begin(), "user0000000000");
  EXPECT_EQ(*keys.rbegin(), "user0000000999");
  EXPECT_FALSE(std::is_sorted(engine_.inserted.begin(), engine_.inserted.end()));
}

TEST_F(Driver, ThreadsTogetherDoExactlyWhatWasAsked) {
  ASSERT_EQ(Drive({"-load", "-run", "-threads", "3"},
                  {"recordcount=1001", "operationcount=2003", "verify=true", "readproportion=0.5",
                   "updateproportion=0.2", "insertproportion=0.1", "scanproportion=0.1",
                   "readmodifywriteproportion=0.1", "maxscanlength=5"}),
            0)
      << errors_;
  EXPECT_EQ(engine_.calls["insert"], 1001 + MetricOf("measure", "insert.operations"));
  EXPECT_EQ(MetricOf("measure", "operations"), 2003);
  double sum = 0;
  for (const char* operation : {"read", "update", "insert", "scan", "readmodifywrite"}) {
    sum += MetricOf("measure", std::string(operation) + ".operations");
    EXPECT_EQ(MetricOf("measure", std::string(operation) + ".not_found"), 0) << operation;
  }
  EXPECT_EQ(sum, 2003);
  EXPECT_EQ(engine_.rows.size(), engine_.calls["insert"]);
  EXPECT_GT(MetricOf("measure", "scan.rows"), 0);
}

TEST_F(Driver, BytesAreKeysPlusValues) {
  ASSERT_EQ(Drive({"-load", "-run"}, {"recordcount=10", "operationcount=30", "readproportion=1",
                                      "updateproportion=0"}),
            0);
  EXPECT_EQ(MetricOf("load", "bytes.written"), 10 * 814);
  EXPECT_EQ(MetricOf("load", "bytes.read"), 0);
  EXPECT_EQ(MetricOf("measure", "bytes.read"), 30 * 814);
}

TEST_F(Driver, UpdatesReadFirstOnlyWhenAsked) {
  const Names mix = {"operationcount=40", "readproportion=0", "updateproportion=1"};
  ASSERT_EQ(Drive({"-load", "-run"}, mix), 0);
  EXPECT_EQ(engine_.calls["get"], 0u);
  EXPECT_EQ(engine_.calls["put"], 40u);
  Names reading = mix;
  reading.push_back("update.mode=readmodifywrite");
  ASSERT_EQ(Drive({"-run"}, reading), 0);
  EXPECT_EQ(engine_.calls["get"], 40u);
  EXPECT_EQ(engine_.calls["put"], 80u);
}

TEST_F(Driver, MissingKeysAreCountedNotFailures) {
  ASSERT_EQ(Drive({"-run"}, {"operationcount=9", "readproportion=1", "updateproportion=0"}), 0);
  EXPECT_EQ(MetricOf("measure", "read.operations"), 9);
  EXPECT_EQ(MetricOf("measure", "read.not_found"), 9);
}

TEST_F(Driver, StopsBySeconds) {
  ASSERT_EQ(Drive({"-load", "-run", "-threads", "2"}, {"measure.seconds=0.2"}), 0);
  EXPECT_GE(Phase("measure")["seconds"].get<double>(), 0.2);
  EXPECT_GT(MetricOf("measure", "operations"), 0);
}

TEST_F(Driver, StopsByBytesWritten) {
  ASSERT_EQ(Drive({"-load", "-run", "-threads", "2"},
                  {"measure.bytes=200KiB", "readproportion=0.5", "updateproportion=0.5"}),
            0);
  EXPECT_GE(MetricOf("measure", "bytes.written"), 200 * 1024);
  EXPECT_LE(MetricOf("measure", "bytes.written"), 200 * 1024 + 2 * 814);
}

TEST_F(Driver, TheFirstLimitReachedCounts) {
  ASSERT_EQ(
      Drive({"-load", "-run"}, {"measure.bytes=1GiB", "measure.seconds=600", "operationcount=17"}),
      0);
  EXPECT_EQ(MetricOf("measure", "operations"), 17);
}

// A pause of the engine delays operations that were meant to start during it: an open loop counts
// that, a closed loop does not see it.
TEST_F(Driver, OpenLoopCountsFromTheIntendedStart) {
  std::atomic<int> gets{0};
  engine_.hook = [&](std::string_view call, std::string_view) {
    if (call == "get" && ++gets == 20) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return Status::Ok();
  };
  const Names reads = {"recordcount=10", "operationcount=200", "readproportion=1",
                       "updateproportion=0"};
  Names paced = reads;
  paced.push_back("target=1000");
  ASSERT_EQ(Drive({"-load", "-run"}, paced), 0);
  EXPECT_GE(Phase("measure")["seconds"].get<double>(), 0.19);
  // 100 of 200 operations waited, 50 ms on average.
  EXPECT_GE(MetricOf("measure", "read.latency.p75"), 30e6);
  EXPECT_LE(MetricOf("measure", "read.service.p75"), 30e6);
  EXPECT_GE(MetricOf("measure", "read.service.max"), 100e6);

  gets = 0;
  ASSERT_EQ(Drive({"-run"}, reads), 0);
  EXPECT_LE(MetricOf("measure", "read.latency.p75"), 30e6);
  EXPECT_FALSE(Phase("measure")["metrics"].contains("read.service.p75"));
}

TEST_F(Driver, VerifyCatchesAnEngineThatLies) {
  engine_.distort = [](const std::string& value) {
    std::string wrong = value;
    wrong[wrong.size() / 2] ^= 1;
    return wrong;
  };
  const Names reads = {"recordcount=10", "operationcount=10", "readproportion=1",
                       "updateproportion=0"};
  EXPECT_EQ(Drive({"-load", "-run"}, reads), 0) << "without verify values are not checked";
  Names checked = reads;
  checked.push_back("verify=true");
  EXPECT_EQ(Drive({"-run"}, checked), 3);
  EXPECT_NE(errors_.find("read 'user00000000"), std::string::npos) << errors_;
  EXPECT_EQ(OutcomeJson()["status"], "failed");
  EXPECT_EQ(OutcomeJson()["error"]["code"], "corruption");
  EXPECT_EQ(OutcomeJson()["error"]["phase"], "measure");

  EXPECT_EQ(Drive({"-run"}, {"recordcount=10", "operationcount=10", "verify=true",
                             "readproportion=0", "updateproportion=0", "scanproportion=1"}),
            3);
  EXPECT_NE(errors_.find("scan 'user00000000"), std::string::npos) << errors_;
}

TEST_F(Driver, VerifyCatchesAnEngineThatLosesKeys) {
  ASSERT_EQ(Drive({"-load"}, {"recordcount=10"}), 0);
  engine_.rows.clear();
  EXPECT_EQ(Drive({"-run"}, {"recordcount=10", "operationcount=10", "verify=true"}), 3);
  EXPECT_NE(errors_.find("found no such key"), std::string::npos) << errors_;
  EXPECT_EQ(Drive({"-run"},
                  {"recordcount=10", "operationcount=10", "verify=true", "deleteproportion=0.1"}),
            0)
      << "a mix that deletes expects missing keys";
}

TEST_F(Driver, VerifyCatchesAScanThatSkipsARow) {
  const Names scans = {"recordcount=20",   "operationcount=200", "verify=true",
                       "readproportion=0", "updateproportion=0", "scanproportion=1",
                       "minscanlength=20", "maxscanlength=20"};
  ASSERT_EQ(Drive({"-load", "-run"}, scans), 0) << errors_;
  for (const char* key : {"user0000000007", "user0000000019"}) {
    engine_.skipped = key;
    EXPECT_EQ(Drive({"-run"}, scans), 3) << key;
    EXPECT_NE(errors_.find("scan 'user00000000"), std::string::npos) << errors_;
  }
  Names deleting = scans;
  deleting.push_back("deleteproportion=0.001");
  EXPECT_EQ(Drive({"-run"}, deleting), 0) << "a mix that deletes expects missing rows";
}

TEST_F(Driver, OpenLoopReportsHowManyStartsItMissed) {
  engine_.hook = [](std::string_view call, std::string_view) {
    if (call == "get") std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return Status::Ok();
  };
  const Names paced = {"recordcount=10", "readproportion=1", "updateproportion=0", "target=100"};
  Names timed = paced;
  timed.push_back("measure.seconds=0.5");
  ASSERT_EQ(Drive({"-load", "-run"}, timed), 0);
  const double started = MetricOf("measure", "operations");
  EXPECT_LE(started, 11);
  EXPECT_EQ(started + MetricOf("measure", "arrivals.missed"), 50);
  Names counted = paced;
  counted.push_back("operationcount=5");
  ASSERT_EQ(Drive({"-run"}, counted), 0);
  EXPECT_EQ(MetricOf("measure", "arrivals.missed"), 0);
  ASSERT_EQ(Drive({"-run"}, {"operationcount=5"}), 0);
  EXPECT_FALSE(Phase("measure")["metrics"].contains("arrivals.missed"));
}

// One get lasts longer than the phase. What arrived meanwhile had waited for up to half a second
// when the phase ended, and is part of what a user would have seen.
TEST_F(Driver, OpenLoopCountsHowLongUnstartedOperationsHadWaited) {
  engine_.hook = [](std::string_view call, std::string_view) {
    if (call == "get") std::this_thread::sleep_for(std::chrono::milliseconds(1200));
    return Status::Ok();
  };
  ASSERT_EQ(Drive({"-load", "-run"}, {"recordcount=10", "readproportion=1", "updateproportion=0",
                                      "target=100", "measure.seconds=1"}),
            0);
  EXPECT_EQ(MetricOf("measure", "operations"), 1);
  EXPECT_EQ(MetricOf("measure", "read.operations"), 1);
  EXPECT_EQ(MetricOf("measure", "arrivals.missed"), 99);
  // Waits of 10, 20 ... 990 ms, whatever the machine's speed, and the one get.
  EXPECT_NEAR(MetricOf("measure", "read.latency.p50"), 500e6, 1e6);
  EXPECT_NEAR(MetricOf("measure", "read.latency.p90"), 900e6, 1e6);
  EXPECT_NEAR(MetricOf("measure", "read.latency.min"), 10e6, 1e5);
  EXPECT_GE(MetricOf("measure", "read.service.min"), 1200e6);
  EXPECT_NE(Output("latency.hlog").find("measure.read"), std::string::npos);
}

// Far more than can be entered one by one.
TEST_F(Driver, VeryManyUnstartedOperationsAreCountedInLots) {
  engine_.hook = [](std::string_view call, std::string_view) {
    if (call == "get") std::this_thread::sleep_for(std::chrono::milliseconds(400));
    return Status::Ok();
  };
  ASSERT_EQ(Drive({"-load", "-run"}, {"recordcount=10", "readproportion=1", "updateproportion=0",
                                      "target=1e11", "measure.seconds=0.2"}),
            0);
  EXPECT_NEAR(MetricOf("measure", "arrivals.missed"), 0.2e11, 1e6);
  EXPECT_NEAR(MetricOf("measure", "read.latency.p50"), 100e6, 1e6);
}

TEST_F(Driver, UnstartedOperationsHaveTheMixsShares) {
  engine_.hook = [](std::string_view call, std::string_view) {
    if (call == "get" || call == "put") std::this_thread::sleep_for(std::chrono::seconds(1));
    return Status::Ok();
  };
  ASSERT_EQ(
      Drive({"-load", "-run"}, {"recordcount=10", "readproportion=0.9", "updateproportion=0.1",
                                "target=10000", "measure.seconds=0.5", "arrivals=poisson"}),
      0);
  EXPECT_NEAR(MetricOf("measure", "arrivals.missed"), 5000, 500) << "as many as were drawn";
  std::istringstream log(Output("latency.hlog"));
  int operations = 0;
  for (std::string line; std::getline(log, line);) {
    operations += line.starts_with("Tag=measure.read,") || line.starts_with("Tag=measure.update,");
  }
  EXPECT_EQ(operations, 2) << "also of the one that never started";
}

TEST_F(Driver, TimeToNineTenthsOfTheFinalRate) {
  std::atomic<int> gets{0};
  engine_.hook = [&](std::string_view call, std::string_view) {
    if (call != "get") return Status::Ok();
    // A second of slow ones first.
    std::this_thread::sleep_for(std::chrono::milliseconds(++gets <= 10 ? 100 : 2));
    return Status::Ok();
  };
  ASSERT_EQ(Drive({"-load", "-run"}, {"recordcount=10", "readproportion=1", "updateproportion=0",
                                      "measure.seconds=3"}),
            0);
  EXPECT_GE(MetricOf("measure", "throughput.time_to_90"), 1.0);
  EXPECT_FALSE(Phase("load")["metrics"].contains("throughput.time_to_90")) << "it is too short";
  EXPECT_FALSE(Phase("drain")["metrics"].contains("throughput.time_to_90"));
  EXPECT_FALSE(Phase("run")["metrics"].contains("throughput.time_to_90"));
}

TEST_F(Driver, DescribesWhatAWriteSurvives) {
  ASSERT_EQ(DriveWith({"--describe"}), 0);
  const nlohmann::json described = nlohmann::json::parse(output_)["engine"]["durability"];
  EXPECT_EQ(described["process"], "kept");
  EXPECT_EQ(described["power"], "lost");
  EXPECT_EQ(described["power_loss_seconds"], nullptr);
  ASSERT_EQ(Drive({"-load"}, {"recordcount=5", "sync=true"}), 0);
  const nlohmann::json in_force = OutcomeJson()["engine"]["durability"];
  EXPECT_EQ(in_force["power"], "kept");
  EXPECT_EQ(in_force["power_loss_seconds"], 0);
}

TEST_F(Driver, ListsWhichPropertiesShapeAgedData) {
  ASSERT_EQ(DriveWith({"--describe"}), 0);
  const nlohmann::json description = nlohmann::json::parse(output_);
  std::set<std::string> aged;
  for (const auto& property : description["properties"]) {
    if (property["shapes_aged_data"]) aged.insert(property["name"]);
  }
  EXPECT_EQ(aged, (std::set<std::string>{"requestdistribution", "zipfian_const", "scattered",
                                         "hotspotdatafraction", "hotspotopnfraction",
                                         "exponential.percentile", "exponential.frac"}));
  EXPECT_EQ(description["phases"], (Names{"load", "settle", "build", "age", "age-settle", "warmup",
                                          "rest", "measure", "drain", "run"}));
}

TEST_F(Driver, SlowOperationsAreReportedInTheRowTheyBelongTo) {
  static constexpr double kSeconds = 0.02;  // of an operation, at least
  engine_.hook = [](std::string_view call, std::string_view) {
    if (call == "get") std::this_thread::sleep_for(std::chrono::duration<double>(kSeconds));
    return Status::Ok();
  };
  ASSERT_EQ(Drive({"-load", "-run"}, {"recordcount=10", "readproportion=1", "updateproportion=0",
                                      "measure.seconds=1.3", "series.interval=0.4"}),
            0);
  std::istringstream rows(Output("series.csv"));
  int seen = 0;
  for (std::string row; std::getline(rows, row);) {
    double elapsed, operations, throughput;
    const char* format = "measure,%lf,%lf,%lf,";
    if (std::sscanf(row.c_str(), format, &elapsed, &operations, &throughput) != 3) continue;
    if (operations == 0) continue;
    EXPECT_LE(operations, operations / throughput / kSeconds + 2) << row;
    ++seen;
  }
  EXPECT_GE(seen, 2);
}

TEST_F(Driver, TheFirstErrorEndsTheRunAndIsLeftBehind) {
  engine_.hook = [](std::string_view call, std::string_view key) {
    const bool fails = call == "insert" && key == "user0000000005";
    return fails ? Status::IoError("disk on fire") : Status::Ok();
  };
  EXPECT_EQ(Drive({"-load", "-run"}, {"recordcount=100", "operationcount=10"}), 2);
  EXPECT_EQ(PhaseNames(), Names{"load"});
  EXPECT_EQ(MetricOf("load", "insert.operations"), 5);
  EXPECT_EQ(MetricOf("load", "insert.failed"), 1);
  const nlohmann::json error = OutcomeJson()["error"];
  EXPECT_EQ(error["code"], "io error");
  EXPECT_EQ(error["phase"], "load");
  EXPECT_EQ(error["message"], "insert 'user0000000005': disk on fire");
  EXPECT_EQ(engine_.calls["close"], 1u);
}

TEST_F(Driver, FailuresAreReportedWhereverTheyHappen) {
  for (const auto& [call, phase] : std::vector<std::pair<std::string, std::string>>{
           {"open", ""}, {"settle", "settle"}, {"close", "close"}}) {
    engine_.hook = [call = call](std::string_view called, std::string_view) {
      return called == call ? Status::Unsupported("not today") : Status::Ok();
    };
    EXPECT_EQ(Drive({"-load"}, {"recordcount=5"}), 2) << call;
    EXPECT_EQ(OutcomeJson()["error"]["phase"], phase) << call;
    EXPECT_EQ(OutcomeJson()["error"]["code"], "unsupported") << call;
    EXPECT_NE(errors_.find("not today"), std::string::npos) << call;
  }
}

TEST_F(Driver, SignalsEndTheRunCleanly) {
  for (const int signal_number : {SIGINT, SIGTERM}) {
    std::atomic<int> puts{0};
    engine_.hook = [&](std::string_view call, std::string_view) {
      if (call == "put" && ++puts == 10) kill(getpid(), signal_number);
      return Status::Ok();
    };
    EXPECT_EQ(Drive({"-run"}, {"measure.seconds=600", "updateproportion=1", "target=1000"}), 4);
    EXPECT_EQ(OutcomeJson()["status"], "interrupted");
    EXPECT_EQ(OutcomeJson()["error"], nullptr);
    EXPECT_EQ(PhaseNames(), Names{"measure"});
    EXPECT_GE(MetricOf("measure", "operations"), 10);
  }
  EXPECT_EQ(engine_.calls["close"], 2u);
}

TEST_F(Driver, WrongUsageLeavesNothingBehind) {
  EXPECT_EQ(Drive({"-run"}, {"operationcout=1"}), 1);
  EXPECT_NE(errors_.find("'operationcount'"), std::string::npos) << errors_;
  EXPECT_EQ(Drive({"-run"}, {"operationcount=1", "readproportion=0", "updateproportion=0"}), 1);
  EXPECT_EQ(Drive({"-run"}, {"operationcount=1", "progress.fd=999"}), 1);
  EXPECT_NE(errors_.find("progress.fd"), std::string::npos) << errors_;
  EXPECT_EQ(Drive({"-run"}, {"operationcount=1", "limit.file=/nowhere"}), 1);
  EXPECT_FALSE(std::filesystem::exists(root_ + "/output"));
  EXPECT_EQ(engine_.calls["open"], 0u);
}

TEST_F(Driver, PlacesThatCannotBeWrittenAreNamed) {
  std::ofstream(root_ + "/file") << "in the way";
  EXPECT_EQ(Drive({"-load"}, {"output.dir=" + root_ + "/file"}), 2);
  EXPECT_NE(errors_.find("output.dir"), std::string::npos) << errors_;
  EXPECT_EQ(Drive({"-load"}, {"data.dir=" + root_ + "/file/below"}), 2);
  EXPECT_NE(errors_.find("data.dir"), std::string::npos) << errors_;
  EXPECT_EQ(OutcomeJson()["status"], "failed");
  EXPECT_EQ(engine_.calls["open"], 0u);
}

TEST_F(Driver, AStoreCanBeEmptiedBeforeALoad) {
  std::filesystem::create_directories(root_ + "/data/deep/below");
  std::filesystem::create_directory(root_ + "/elsewhere");
  std::ofstream(root_ + "/data/old") << "old";
  std::ofstream(root_ + "/elsewhere/kept") << "kept";
  std::filesystem::create_symlink(root_ + "/elsewhere", root_ + "/data/link");
  engine_.hook = [&](std::string_view call, std::string_view) {
    EXPECT_TRUE(call != "open" || std::filesystem::is_empty(root_ + "/data"));
    return Status::Ok();
  };
  ASSERT_EQ(Drive({"-load"}, {"toy.destroy=true"}), 0) << errors_;
  EXPECT_EQ(engine_.calls["open"], 1u);
  EXPECT_TRUE(std::filesystem::exists(root_ + "/elsewhere/kept"));
}

TEST_F(Driver, NothingButAStoreIsEmptied) {
  const std::filesystem::path here = std::filesystem::current_path();
  const std::string home = std::getenv("HOME") == nullptr ? "" : std::getenv("HOME");
  std::filesystem::create_directory(root_ + "/here");
  std::filesystem::create_directories(root_ + "/home/below");
  std::filesystem::create_directory_symlink(root_ + "/home", root_ + "/link");
  std::filesystem::current_path(root_ + "/here");
  setenv("HOME", (root_ + "/home/below").c_str(), 1);
  const std::map<std::string, std::string> mistakes = {{"/output", "output.dir"},
                                                       {"/here", "working directory"},
                                                       {"/here/../here", "working directory"},
                                                       {"/home", "home directory"},
                                                       {"/link", "home directory"}};
  for (const auto& [directory, reason] : mistakes) {
    EXPECT_EQ(Drive({"-load"}, {"data.destroy=true", "data.dir=" + root_ + directory}), 1);
    EXPECT_NE(errors_.find(reason), std::string::npos) << errors_;
  }
  EXPECT_TRUE(std::filesystem::exists(root_ + "/home/below"));
  EXPECT_EQ(engine_.calls["open"], 0u);
  std::filesystem::current_path(here);
  setenv("HOME", home.c_str(), 1);
}

TEST_F(Driver, TheEngineMayOpenAsManyFilesAsTheSystemAllows) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low = {.rlim_cur = before.rlim_max / 2, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  rlimit seen = {};
  engine_.hook = [&](std::string_view call, std::string_view) {
    if (call == "open") getrlimit(RLIMIT_NOFILE, &seen);
    return Status::Ok();
  };
  EXPECT_EQ(Drive({"-load"}, {}), 0);
  EXPECT_EQ(seen.rlim_cur, before.rlim_max);
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST_F(Driver, AFullDiskIsReportedForEveryFile) {
  for (const std::string file : {"series.csv", "events.csv", "latency.hlog", "outcome.json.tmp"}) {
    std::filesystem::remove_all(root_ + "/output");
    std::filesystem::create_directory(root_ + "/output");
    std::filesystem::create_symlink("/dev/full", root_ + "/output/" + file);
    EXPECT_EQ(Drive({"-load"}, {"recordcount=10"}), 2) << file;
    EXPECT_NE(errors_.find(file + ": No space left"), std::string::npos) << errors_;
    EXPECT_EQ(std::filesystem::exists(root_ + "/output/outcome.json"), file != "outcome.json.tmp");
  }
}

TEST_F(Driver, PrintsYcsbsLastLines) {
  ASSERT_EQ(Drive({"-load", "-run", "-s"}, {"recordcount=10", "operationcount=20"}), 0);
  for (const char* line :
       {"Load runtime(sec): ", "Load operations(ops): 10\n",
        "Run runtime(sec): ", "Load throughput(ops/sec): ", "Run operations(ops): 20\n",
        "Run throughput(ops/sec): ", " operations; [INSERT: Count=10 Max="}) {
    EXPECT_NE(output_.find(line), std::string::npos) << line << " in\n" << output_;
  }
}

TEST_F(Driver, WritesASeriesWithAUnitForEveryColumn) {
  ASSERT_EQ(Drive({"-load", "-run"}, {"measure.seconds=0.32", "series.interval=100ms"}), 0);
  std::stringstream rows(Output("series.csv"));
  std::string header, row;
  std::getline(rows, header);
  ASSERT_TRUE(header.starts_with("phase,elapsed,operations,throughput,"));
  const auto commas = std::count(header.begin(), header.end(), ',');
  std::vector<double> measured;
  while (std::getline(rows, row)) {
    EXPECT_EQ(std::count(row.begin(), row.end(), ','), commas);
    double elapsed;
    if (std::sscanf(row.c_str(), "measure,%lf", &elapsed) == 1) measured.push_back(elapsed);
  }
  ASSERT_GE(measured.size(), 2);
  EXPECT_GE(measured.back() - measured.end()[-2], 0.05) << "the last row has half an interval";
  const nlohmann::json series = OutcomeJson()["series"];
  EXPECT_EQ(series["columns"].size() + 1, static_cast<size_t>(commas));
  EXPECT_EQ(series["columns"]["engine.puts"], "op");
  EXPECT_EQ(series["interval_seconds"], 0.1);
}

TEST_F(Driver, EngineCountersAreDifferencesOrLevels) {
  ASSERT_EQ(Drive({"-load", "-run"}, {"recordcount=10", "operationcount=20", "warmup.operations=5",
                                      "readproportion=0", "updateproportion=1"}),
            0);
  EXPECT_EQ(MetricOf("measure", "engine.puts"), 20);
  EXPECT_EQ(MetricOf("measure", "engine.rows"), 10);
  EXPECT_EQ(MetricOf("load", "engine.puts"), 0);
}

// What a component did in an earlier phase is not in a later one's percentiles.
TEST_F(Driver, LatenciesByComponentAreThoseOfThePhase) {
  engine_.components = {{.component = "log", .buckets = {{1000, 0}, {2000, 0}, {4000, 0}}},
                        {.component = "table", .buckets = {{1000, 0}}}};
  engine_.hook = [&](std::string_view call, std::string_view) {
    const std::lock_guard lock(engine_.mutex);
    if (call == "insert") ++engine_.components[0].buckets[2].count;
    if (call == "get") ++engine_.components[0].buckets[engine_.calls["get"] % 10 == 0].count;
    return Status::Ok();
  };
  ASSERT_EQ(Drive({"-load", "-run"}, {"recordcount=1000", "operationcount=200", "readproportion=1",
                                      "updateproportion=0"}),
            0);
  EXPECT_EQ(MetricOf("load", "component.log.p50_us"), 4);
  EXPECT_EQ(MetricOf("measure", "component.log.timed"), 200);
  EXPECT_EQ(MetricOf("measure", "component.log.p50_us"), 1);
  EXPECT_EQ(MetricOf("measure", "component.log.p95_us"), 2);
  EXPECT_EQ(MetricOf("measure", "component.log.p99_us"), 2);
  EXPECT_FALSE(Phase("measure")["metrics"].contains("component.table.p50_us"));
  EXPECT_FALSE(Phase("settle")["metrics"].contains("component.log.p50_us"));
}

TEST_F(Driver, ProgressIsALineOfJsonAtEveryBorder) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
  ASSERT_EQ(Drive({"-load", "-run"}, {"recordcount=10", "operationcount=20",
                                      "progress.fd=" + std::to_string(ends[1])}),
            0);
  std::string text(1 << 16, '\0');
  text.resize(static_cast<size_t>(std::max<ssize_t>(0, read(ends[0], text.data(), text.size()))));
  close(ends[0]);
  close(ends[1]);
  std::stringstream lines(text);
  std::string line;
  std::map<std::string, nlohmann::json> last;
  while (std::getline(lines, line)) {
    const nlohmann::json json = nlohmann::json::parse(line);
    last[json["phase"]] = json;
  }
  EXPECT_EQ(last["load"]["fraction"], 1.0);
  EXPECT_EQ(last["load"]["operations"], 10);
  EXPECT_EQ(last["measure"]["operations"], 20);
  EXPECT_EQ(last["drain"]["fraction"], nullptr);
  EXPECT_EQ(last["settle"]["unit"], "op/s");
}

TEST_F(Driver, AReaderThatLeavesDoesNotHarm) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  EXPECT_EQ(Drive({"-load"}, {"recordcount=10", "progress.fd=" + std::to_string(ends[1])}), 0);
  close(ends[1]);
}

TEST_F(Driver, WithoutOutputNothingIsWritten) {
  ASSERT_EQ(DriveWith({"-load", "-p", "data.dir=" + root_ + "/data"}), 0);
  EXPECT_FALSE(std::filesystem::exists(root_ + "/output"));
}

}  // namespace
}  // namespace kvdyno
