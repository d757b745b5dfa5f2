// What is reported, word for word, and the metrics that follow from samples.
#include <gtest/gtest.h>

#include <cstdlib>

#include "measure/sampler.h"
#include "report/console.h"
#include "report/phase_result.h"
#include "report/progress.h"

namespace kvdyno {
namespace {

TallyShape Mix() {
  TallyShape shape;
  for (const Operation operation : {Operation::kRead, Operation::kScan, Operation::kUpdate}) {
    shape.used[static_cast<size_t>(operation)] = true;
  }
  return shape;
}

TEST(Console, StatusLinesAreYcsbs) {
  setenv("TZ", "UTC", 1);
  Tally tally(Mix());
  tally.of(Operation::kRead)->latency.Record(1000);
  tally.of(Operation::kRead)->latency.Record(1500);
  EXPECT_EQ(StatusLine(1599739200, 10.9, tally),
            "2020-09-10 12:00:00 10 sec: 2 operations; [READ: Count=2 Max=1.50 Min=1.00 Avg=1.25 "
            "90=1.50 99=1.50 99.9=1.50 99.99=1.50]");
}

TEST(Console, FinalLinesAreYcsbs) {
  EXPECT_EQ(FinalLines("Load", 2.5, 100),
            "Load runtime(sec): 2.5\nLoad operations(ops): 100\nLoad throughput(ops/sec): 40\n");
}

TEST(Progress, IsOneLineOfJson) {
  EXPECT_EQ(ProgressJson({"measure", 3, 0.25, 120000, 40012.5}),
            R"({"phase":"measure","elapsed":3.0,"fraction":0.25,"operations":120000,)"
            R"("rate":40012.5,"unit":"op/s"})");
  EXPECT_NE(ProgressJson({.phase = "drain"}).find(R"("fraction":null)"), std::string::npos);
}

TEST(Changes, SubtractOnlyWhatIsCumulative) {
  const std::vector<Counter> before = {{"a", 5, "op", true}, {"b", 5, "byte", false}};
  const std::vector<Counter> after = {
      {"a", 7, "op", true}, {"b", 4, "byte", false}, {"new", 3, "op", true}};
  const std::vector<Counter> changes = Changes(before, after);
  EXPECT_EQ(changes[0].value, 2);
  EXPECT_EQ(changes[1].value, 4);
  EXPECT_EQ(changes[2].value, 3);
}

class Metrics : public testing::Test {
 protected:
  Metrics() {
    auto tally = std::make_shared<Tally>(Mix());
    for (int i = 0; i < 4; ++i) tally->of(Operation::kUpdate)->latency.Record(100);
    for (int i = 0; i < 6; ++i) tally->of(Operation::kRead)->latency.Record(200);
    tally->bytes_written = 4000;
    tally->bytes_read = 6000;
    tally->retrievals = 6;
    phase_ = {.name = "measure",
              .covers = {},
              .started_at = 1,
              .seconds = 2,
              .tally = tally,
              .before = {{"io.write_bytes", 1000, "byte", true}},
              .after = {{"io.write_bytes", 9000, "byte", true},
                        {"io.cancelled_write_bytes", 2000, "byte", true},
                        {"io.wchar", 10000, "byte", true},
                        {"io.rchar", 3000, "byte", true},
                        {"io.syscr", 3, "call", true},
                        {"cpu.user", 0.5, "s", true},
                        {"cpu.system", 0.5, "s", true},
                        {"engine.stall_micros", 60, "us", true}}};
  }
  double Value(const std::string& name) const { return MetricsOf(phase_).at(name).value; }

  PhaseResult phase_;
};

TEST_F(Metrics, AmplificationIsAsDefined) {
  EXPECT_EQ(Value("write_amplification.gross"), 2);
  EXPECT_EQ(Value("write_amplification.net"), 1.5);
  EXPECT_EQ(Value("write_amplification.calls"), 2.5);
  EXPECT_EQ(Value("read_amplification.bytes"), 0.5);
  EXPECT_EQ(Value("read_amplification.calls"), 0.5);
  EXPECT_FALSE(MetricsOf(phase_).contains("read_amplification.disk")) << "the kernel did not say";
}

TEST_F(Metrics, RatesAndCosts) {
  EXPECT_EQ(Value("operations"), 10);
  EXPECT_EQ(Value("throughput"), 5);
  EXPECT_EQ(Value("cpu.per_operation"), 1e8);
  EXPECT_EQ(Value("stall.per_write"), 15) << "of four updates";
  EXPECT_EQ(Value("read.latency.mean"), 200);
  EXPECT_FALSE(MetricsOf(phase_).contains("scan.operations")) << "none was done";
}

TEST_F(Metrics, ARatioWithoutDivisorIsLeftOut) {
  phase_.tally = std::make_shared<Tally>(Mix());
  EXPECT_FALSE(MetricsOf(phase_).contains("write_amplification.gross"));
  EXPECT_FALSE(MetricsOf(phase_).contains("read_amplification.calls"));
  EXPECT_FALSE(MetricsOf(phase_).contains("cpu.per_operation"));
  EXPECT_FALSE(MetricsOf(phase_).contains("stall.per_write"));
}

TEST_F(Metrics, ASpanCountsTheTimeAndTheWritesOfTheRest) {
  const PhaseResult rest = {.name = "drain",
                            .covers = {},
                            .started_at = 3,
                            .start_ns = phase_.start_ns + 2'000'000'000,
                            .seconds = 3,
                            .tally = nullptr,
                            .before = phase_.after,
                            .after = {{"io.write_bytes", 13000, "byte", true}}};
  const PhaseResult phases[] = {phase_, rest};
  const PhaseResult span = MakeSpan("run", phases);
  EXPECT_EQ(span.covers, (std::vector<std::string>{"measure", "drain"}));
  EXPECT_EQ(span.started_at, 1);
  EXPECT_EQ(MetricsOf(span).at("throughput").value, 2);
  EXPECT_EQ(MetricsOf(span).at("write_amplification.gross").value, 3);
  EXPECT_FALSE(MetricsOf(rest).contains("operations"));
}

}  // namespace
}  // namespace kvdyno
