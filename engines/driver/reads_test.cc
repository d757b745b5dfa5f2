// Reads of many keys, and what goes on beside reads: multi-gets, reverse scans, background writes,
// and runs without a log.
#include <chrono>
#include <thread>

#include "testing/driver_fixture.h"

namespace kvdyno {
namespace {

using Names = std::vector<std::string>;

// A mix of one operation.
Names Only(const std::string& operation, Names more) {
  Names properties = {"readproportion=0", "updateproportion=0", operation + "proportion=1"};
  properties.insert(properties.end(), more.begin(), more.end());
  return properties;
}

class Reads : public DriverFixture {
 protected:
  void Load() {
    ASSERT_EQ(Drive({"-load"}, {"recordcount=100", "fieldcount=1", "fieldlength=100"}), 0);
  }
  int Run(const Names& properties) {
    Names all = {"recordcount=100", "fieldcount=1", "fieldlength=100"};
    all.insert(all.end(), properties.begin(), properties.end());
    return Drive({"-run"}, all);
  }
};

TEST_F(Reads, AMultiGetAsksForAllItsKeys) {
  Load();
  engine_.calls.clear();
  ASSERT_EQ(Run(Only("multiread", {"multireadsize=7", "operationcount=30", "verify=true"})), 0)
      << errors_;
  EXPECT_EQ(engine_.calls["get"], 30u * 7) << "an engine without multi-gets gets one by one";
  EXPECT_EQ(MetricOf("measure", "multiread.operations"), 30);
  EXPECT_EQ(MetricOf("measure", "multiread.rows"), 30 * 7);
  EXPECT_EQ(MetricOf("measure", "multiread.not_found"), 0);
  EXPECT_EQ(MetricOf("measure", "bytes.read"), 30 * 7 * (14 + 100));
  EXPECT_GT(MetricOf("measure", "multiread.latency.p50"), 0);
  EXPECT_NE(Output("latency.hlog").find("Tag=measure.multiread"), std::string::npos);
}

TEST_F(Reads, AMultiGetWithAMissingKeyIsNotFound) {
  Load();
  engine_.rows.erase("user0000000007");
  const Names every = Only(
      "multiread", {"multireadsize=100", "operationcount=20", "requestdistribution=sequential"});
  ASSERT_EQ(Run(every), 0) << errors_;
  EXPECT_EQ(MetricOf("measure", "multiread.not_found"), 20);
  EXPECT_EQ(MetricOf("measure", "multiread.rows"), 20 * 99);
  Names verified = every;
  verified.push_back("verify=true");
  EXPECT_EQ(Run(verified), 3);
  EXPECT_NE(errors_.find("key 'user0000000007': expected the value"), std::string::npos) << errors_;
}

TEST_F(Reads, VerifyCatchesAMultiGetThatLies) {
  Load();
  engine_.distort = [](const std::string& value) { return value + "x"; };
  EXPECT_EQ(Run(Only("multiread", {"operationcount=1", "verify=true"})), 3);
  EXPECT_NE(errors_.find("multiread 'user"), std::string::npos) << errors_;
}

TEST_F(Reads, SomeAskForKeysThatNoRecordHas) {
  Load();
  const Names some = Only("read", {"readabsentfraction=0.25", "operationcount=400", "verify=true"});
  ASSERT_EQ(Run(some), 0) << errors_;
  const double absent = MetricOf("measure", "read.not_found");
  EXPECT_NEAR(absent, 100, 40);
  EXPECT_EQ(MetricOf("measure", "read.operations"), 400);
  EXPECT_EQ(MetricOf("measure", "bytes.read"), (400 - absent) * (14 + 100));

  const auto rows = engine_.rows;
  for (const auto& [key, value] : rows) engine_.rows[key + "."] = value;
  EXPECT_EQ(Run(some), 3);
  EXPECT_NE(errors_.find(".': expected no such key, found a value"), std::string::npos) << errors_;
}

TEST_F(Reads, AnErrorOfOneKeyEndsTheRun) {
  Load();
  engine_.hook = [](std::string_view call, std::string_view key) {
    const bool bad = call == "get" && key == "user0000000042";
    return bad ? Status::IoError("bad sector") : Status::Ok();
  };
  EXPECT_EQ(Run(Only("multiread", {"operationcount=1000"})), 2);
  EXPECT_NE(errors_.find("bad sector"), std::string::npos) << errors_;
}

TEST_F(Reads, ReverseScansGoDownwards) {
  const Names scans = Only(
      "reversescan", {"operationcount=200", "verify=true", "minscanlength=20", "maxscanlength=20"});
  Load();
  ASSERT_EQ(Run(scans), 0) << errors_;
  EXPECT_EQ(engine_.calls["reversescan"], 200u);
  EXPECT_EQ(MetricOf("measure", "reversescan.operations"), 200);
  EXPECT_GT(MetricOf("measure", "reversescan.rows"), 200 * 10);
  EXPECT_LT(MetricOf("measure", "reversescan.rows"), 200 * 20) << "the first key ends some";
  EXPECT_GT(MetricOf("measure", "reversescan.latency.p99"), 0);
  for (const char* key : {"user0000000007", "user0000000000"}) {
    engine_.skipped = key;
    EXPECT_EQ(Run(scans), 3) << key;
    EXPECT_NE(errors_.find("reversescan 'user00000000"), std::string::npos) << errors_;
  }
}

TEST_F(Reads, ReverseScansDoNotMeetTheProbe) {
  Load();
  ASSERT_EQ(Run(Only("reversescan", {"measure.seconds=0.2", "verify=true", "minscanlength=200",
                                     "maxscanlength=200", "probe.interval=1ms"})),
            0)
      << errors_;
  EXPECT_EQ(engine_.rows.begin()->first, "!probe");
}

TEST_F(Reads, WhatTheEngineCannotDoIsRefusedBeforeItOpens) {
  engine_.can_scan_reverse = engine_.can_skip_log = false;
  EXPECT_EQ(Run(Only("reversescan", {"operationcount=1"})), 1);
  EXPECT_NE(errors_.find("expected an engine that can scan backwards, got toy"), std::string::npos)
      << errors_;
  EXPECT_EQ(Run({"operationcount=1", "log=false"}), 1);
  EXPECT_NE(errors_.find("expected an engine that can write without its log, got toy"),
            std::string::npos)
      << errors_;
  EXPECT_EQ(engine_.calls["open"], 0u);
  ASSERT_EQ(DriveWith({"--describe"}), 0);
  const auto described = nlohmann::json::parse(output_);
  EXPECT_FALSE(described.contains("skips_log"));
  for (const auto& operation : described["operations"]) EXPECT_NE(operation, "reversescan");
}

TEST_F(Reads, WithoutALogNothingIsPromised) {
  ASSERT_EQ(Drive({"-load"}, {"log=false"}), 0) << errors_;
  EXPECT_FALSE(engine_.log);
  const auto durability = OutcomeJson()["engine"]["durability"];
  EXPECT_EQ(durability["process"], "lost");
  EXPECT_EQ(durability["power"], "lost");
  EXPECT_EQ(Drive({"-load"}, {"log=false", "sync=true"}), 1);
  EXPECT_NE(errors_.find("log: expected true with sync"), std::string::npos) << errors_;
}

TEST_F(Reads, WritesBesideReadsKeepTheirPace) {
  Load();
  engine_.calls.clear();
  const Names reading = {"readproportion=1",    "updateproportion=0",
                         "measure.seconds=0.5", "background.write_rate=114000",
                         "verify=true",         "warmup.seconds=0.1"};
  ASSERT_EQ(Run(reading), 0) << errors_;
  const double writes = MetricOf("measure", "background.operations");
  EXPECT_GT(writes, 0);
  EXPECT_LE(writes, 501 + 50) << "a thousand a second, and what the end waits for";
  EXPECT_EQ(MetricOf("measure", "background.bytes.written"), writes * 114);
  EXPECT_LE(MetricOf("measure", "background.write_rate"), 114000 * 1.1);
  EXPECT_GT(MetricOf("measure", "background.latency.p50"), 0);
  EXPECT_EQ(MetricOf("measure", "bytes.written"), 0) << "the mix's own";
  EXPECT_EQ(engine_.calls["put"], writes + MetricOf("warmup", "background.operations"));
  EXPECT_EQ(engine_.rows.size(), 100u) << "they overwrite";
  EXPECT_NE(Output("latency.hlog").find("Tag=measure.background"), std::string::npos);
}

TEST_F(Reads, ALoadHasNoWritesBesideIt) {
  ASSERT_EQ(Drive({"-load"}, {"recordcount=100", "background.write_rate=1000000"}), 0) << errors_;
  EXPECT_EQ(engine_.calls["put"], 0u);
}

TEST_F(Reads, WritesBesideReadsCatchUpAfterAStall) {
  Load();
  bool stalled = false;
  engine_.hook = [&](std::string_view call, std::string_view) {
    if (call == "put" && !stalled) {
      stalled = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    return Status::Ok();
  };
  ASSERT_EQ(Run({"readproportion=1", "updateproportion=0", "measure.seconds=0.6",
                 "background.write_rate=114000"}),
            0)
      << errors_;
  EXPECT_GT(MetricOf("measure", "background.operations"), 200);
  EXPECT_GE(MetricOf("measure", "background.latency.max"), 190e6);
  EXPECT_GE(MetricOf("measure", "background.latency.p90"), 10e6) << "all that waited count";
}

TEST_F(Reads, AFailureOfAWriteBesideReadsEndsTheRun) {
  Load();
  engine_.hook = [](std::string_view call, std::string_view) {
    return call == "put" ? Status::IoError("no room") : Status::Ok();
  };
  EXPECT_EQ(Run({"readproportion=1", "updateproportion=0", "measure.seconds=20",
                 "background.write_rate=1000000"}),
            2);
  EXPECT_NE(errors_.find("background write 'user"), std::string::npos) << errors_;
  EXPECT_NE(errors_.find("no room"), std::string::npos) << errors_;
}

TEST_F(Reads, WhatCannotBeCheckedTogetherIsRefused) {
  const auto refused = [&](Names properties, const std::string& message) {
    properties.push_back("operationcount=100");
    EXPECT_EQ(Run(properties), 1);
    EXPECT_NE(errors_.find(message), std::string::npos) << errors_;
  };
  refused({"kill.operations=10", "background.write_rate=1MB"}, "expected background.write_rate=0");
  refused({"kill.operations=10", "log=false"}, "expected log=true");
}

}  // namespace
}  // namespace kvdyno
