// What happens while a run goes on: the engine's events, the probe's, and where they are left.
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "kvdyno/base/clock.h"
#include "report/event_table.h"
#include "testing/driver_fixture.h"

namespace kvdyno {
namespace {

using Names = std::vector<std::string>;
using Row = std::vector<std::string>;

class Events : public DriverFixture {
 protected:
  // The rows of events.csv of this kind, cut into cells.
  std::vector<Row> RowsOf(const std::string& kind) const {
    std::vector<Row> found;
    std::istringstream rows(Output("events.csv"));
    std::string line;
    std::getline(rows, line);
    EXPECT_EQ(line, "phase,begin,duration,ended,kind,state,cause,detail");
    while (std::getline(rows, line)) {
      Row row;
      std::istringstream cells(line + ",");
      for (std::string cell; std::getline(cells, cell, ',');) row.push_back(cell);
      EXPECT_EQ(row.size(), 8u) << line;
      if (row.size() == 8 && row[4] == kind) found.push_back(row);
    }
    return found;
  }

  // From the first call of this name on: the engine adds the event, once.
  void AddEventAt(const std::string& wanted, Event event) {
    engine_.hook = [this, wanted, event, added = false](std::string_view call,
                                                        std::string_view) mutable {
      if (call == wanted && !std::exchange(added, true)) {
        event.begin_ns = NowNs();
        engine_.events.Add(event);
      }
      return Status::Ok();
    };
  }
};

TEST_F(Events, BelongToThePhaseInWhichTheyBegan) {
  AddEventAt("settle", {.kind = "flush", .duration_ns = 2'500'000, .cause = "asked"});
  ASSERT_EQ(Drive({"-load", "-run"}, {"recordcount=10", "operationcount=10"}), 0);
  EXPECT_EQ(OutcomeJson()["events"], "events.csv");
  const std::vector<Row> rows = RowsOf("flush");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0][0], "settle");
  EXPECT_GE(std::stod(rows[0][1]), 0);
  EXPECT_EQ(rows[0][2], "0.0025");
  EXPECT_EQ(rows[0][3], "1");
  EXPECT_EQ(rows[0][6], "asked");
}

TEST_F(Events, WhatIsReportedOnceTheStoreIsClosedIsKept) {
  AddEventAt("close", {.kind = "stall", .state = "stop", .cause = "level0", .ended = false});
  ASSERT_EQ(Drive({"-load"}, {"recordcount=10"}), 0);
  const std::vector<Row> rows = RowsOf("stall");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0][3], "0");
  EXPECT_EQ(rows[0][5], "stop");
}

TEST_F(Events, AFailedRunLeavesThemToo) {
  AddEventAt("open", {.kind = "tuning"});
  const auto add = engine_.hook;
  engine_.hook = [add](std::string_view call, std::string_view key) {
    const Status added = add(call, key);
    return call == "insert" ? Status::IoError("disk on fire") : added;
  };
  ASSERT_EQ(Drive({"-load"}, {"recordcount=10"}), 2);
  ASSERT_EQ(RowsOf("tuning").size(), 1u);
  EXPECT_EQ(RowsOf("tuning")[0][0], "") << "it began before the first phase";
}

TEST_F(Events, ACellCannotBreakTheTable) {
  std::filesystem::create_directory(root_ + "/output");
  std::unique_ptr<EventTable> table;
  ASSERT_TRUE(EventTable::Create(root_ + "/output/events.csv", 1000, &table).ok());
  table->BeginPhase("load", 2000);
  table->Append({{.kind = "tuning", .begin_ns = 500, .detail = "a,b \"c\"\nd"},
                 {.kind = "tuning", .begin_ns = 2000}});
  ASSERT_TRUE(table->Close().ok());
  const std::vector<Row> rows = RowsOf("tuning");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0][7], "a b  c  d");
  EXPECT_EQ(rows[0][0] + rows[1][0], "load");
}

class ProbeOfARun : public Events {
 protected:
  // Writes stop once, for this long, when the store has been written to so often by clients.
  void StallAt(int writes, std::chrono::milliseconds pause) {
    engine_.hook = [this, writes, pause](std::string_view call, std::string_view key) {
      if (call != "put") return Status::Ok();
      if (key.starts_with("user") && ++writes_ == writes) {
        resumes_ns_ = NowNs() + static_cast<uint64_t>(std::chrono::nanoseconds(pause).count());
      }
      const uint64_t now = NowNs();
      if (const uint64_t resumes = resumes_ns_; resumes > now) {
        std::this_thread::sleep_for(std::chrono::nanoseconds(resumes - now));
      }
      return Status::Ok();
    };
  }

  const Names kWrites_ = {"recordcount=10",      "readproportion=0", "updateproportion=1",
                          "measure.seconds=0.6", "target=1000",      "probe.interval=10ms"};
  std::atomic<int> writes_{0};
  std::atomic<uint64_t> resumes_ns_{0};
};

TEST_F(ProbeOfARun, SeesAStallThatNoCounterMoves) {
  StallAt(100, std::chrono::milliseconds(200));
  Names writes = kWrites_;
  writes.push_back("probe.threshold=100ms");
  ASSERT_EQ(Drive({"-load", "-run"}, writes), 0) << errors_;
  const std::vector<Row> rows = RowsOf("probe");
  ASSERT_GE(rows.size(), 1u);
  EXPECT_EQ(rows[0][0], "measure");
  EXPECT_GE(std::stod(rows[0][2]), 0.15) << "no write began later than an interval into the stall";
  // 20 writes were meant to begin during the stall, one was made.
  EXPECT_GE(MetricOf("measure", "probe.latency.max"), 150e6);
  EXPECT_GE(MetricOf("measure", "probe.latency.p90"), 50e6);
  EXPECT_NE(Output("latency.hlog").find("Tag=measure.probe"), std::string::npos);
  EXPECT_EQ(engine_.rows.begin()->first, "!probe") << "below all keys";
}

TEST_F(ProbeOfARun, LeavesChecksAndCountsOfDataAlone) {
  Names mix = kWrites_;
  for (const char* more : {"verify=true", "scanproportion=1", "readproportion=1",
                           "insertproportion=0.1", "deleteproportion=0"}) {
    mix.push_back(more);
  }
  ASSERT_EQ(Drive({"-load", "-run"}, mix), 0) << errors_;
  EXPECT_EQ(MetricOf("load", "operations"), 10);
  EXPECT_EQ(engine_.rows.size(), 11 + MetricOf("measure", "insert.operations"));
}

TEST_F(ProbeOfARun, AnEngineThatRefusesItsWritesEndsTheRun) {
  engine_.hook = [](std::string_view, std::string_view key) {
    return key == "!probe" ? Status::IoError("no room") : Status::Ok();
  };
  EXPECT_EQ(Drive({"-load", "-run"}, kWrites_), 2);
  EXPECT_NE(errors_.find("probe '!probe': no room"), std::string::npos) << errors_;
}

TEST_F(ProbeOfARun, KeysThatWouldLieBelowItsOwnAreRefused) {
  Names writes = kWrites_;
  writes.push_back("keyprefix=!a");
  EXPECT_EQ(Drive({"-load"}, writes), 1);
  EXPECT_NE(errors_.find("sorts above '!'"), std::string::npos) << errors_;
}

class Writers : public DriverFixture {};

TEST_F(Writers, DoTheMixsWritesAndNothingElse) {
  std::mutex mutex;
  std::map<std::thread::id, std::set<std::string>> calls;
  std::atomic<bool> wrote = false;
  std::atomic<bool> got = false;
  engine_.hook = [&](std::string_view call, std::string_view) {
    // Each side leaves work to the other, however late that starts.
    while (call == "put" && wrote && !got) std::this_thread::yield();
    if (call == "put") wrote = true;
    while ((call == "get" || call == "scan") && !wrote) std::this_thread::yield();
    if (call == "get") got = true;
    const std::lock_guard lock(mutex);
    calls[std::this_thread::get_id()].emplace(call);
    return Status::Ok();
  };
  ASSERT_EQ(Drive({"-run", "-threads", "3"},
                  {"operationcount=9000", "writer.threads=1", "readproportion=0.5",
                   "updateproportion=0.5", "scanproportion=0.1"}),
            0)
      << errors_;
  int writers = 0;
  for (auto& [thread, names] : calls) {
    if (names.contains("put")) {
      ++writers;
      EXPECT_EQ(names, std::set<std::string>{"put"});
    }
  }
  EXPECT_EQ(writers, 1);
  EXPECT_EQ(MetricOf("measure", "operations"), 9000);
  EXPECT_GT(MetricOf("measure", "read.operations"), 0);
}

TEST_F(Writers, NeedReadersAndAMixOfBoth) {
  const auto refused = [&](const std::string& property, const std::string& message) {
    EXPECT_EQ(Drive({"-run", "-threads", "2"}, {"operationcount=1", "writer.threads=1", property}),
              1);
    EXPECT_NE(errors_.find(message), std::string::npos) << errors_;
  };
  refused("writer.threads=2", "writer.threads: expected fewer than threadcount (2), got 2");
  refused("updateproportion=0", "got one without writes");
  refused("readproportion=0", "got one without reads");
}

class LoadOfATime : public DriverFixture {};

TEST_F(LoadOfATime, EndsWithRecordsLeft) {
  engine_.hook = [](std::string_view call, std::string_view) {
    if (call == "insert") std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Status::Ok();
  };
  ASSERT_EQ(Drive({"-load"}, {"recordcount=1000000", "load.seconds=0.1"}), 0);
  EXPECT_GE(Phase("load")["seconds"].get<double>(), 0.1);
  EXPECT_LT(engine_.rows.size(), 1000000u);
  EXPECT_EQ(MetricOf("load", "operations"), engine_.rows.size());
  EXPECT_EQ(PhaseNames(), (std::vector<std::string>{"load", "settle", "build"}));
}

TEST_F(LoadOfATime, CanBePaced) {
  engine_.hook = [&](std::string_view call, std::string_view) {
    if (call == "insert" && engine_.rows.size() == 10) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return Status::Ok();
  };
  ASSERT_EQ(Drive({"-load"}, {"recordcount=200", "load.target=1000"}), 0);
  EXPECT_EQ(engine_.rows.size(), 200u);
  EXPECT_GE(Phase("load")["seconds"].get<double>(), 0.19);
  // 100 of 200 records waited, 50 ms on average.
  EXPECT_GE(MetricOf("load", "insert.latency.p75"), 30e6);
  EXPECT_LE(MetricOf("load", "insert.service.p75"), 30e6);

  ASSERT_EQ(Drive({"-load"}, {"recordcount=1000000", "load.target=1000", "load.seconds=0.1"}), 0);
  EXPECT_LE(MetricOf("load", "operations"), 100) << "no faster than asked";
}

TEST_F(LoadOfATime, IsNotFollowedByOperations) {
  EXPECT_EQ(Drive({"-load", "-run"}, {"operationcount=1", "load.seconds=1"}), 1);
  EXPECT_NE(errors_.find("load.seconds: expected -load alone"), std::string::npos) << errors_;
}

}  // namespace
}  // namespace kvdyno
