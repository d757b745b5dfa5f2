// Runs that kill themselves, and runs that open what those left.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "load/acknowledged.h"
#include "testing/driver_fixture.h"

namespace kvdyno {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

class Reopening : public DriverFixture {
 protected:
  Reopening() { Drive({"-load"}, {"recordcount=100"}); }

  // A run that would be killed an hour later, and so leaves what a killed one leaves, and its rows.
  void LeaveKilled(const std::string& operations = "operationcount=300") {
    const Words properties = {operations, "kill.seconds=3600", "threadcount=3"};
    ASSERT_EQ(Run(properties), 0) << errors_;
    fs::rename(root_ + "/output", Left());
  }

  int Run(Words properties) {
    properties.insert(properties.end(), {"recordcount=100", "readproportion=0",
                                         "updateproportion=1", "series.interval=0.05"});
    return Drive({"-run"}, properties);
  }

  // In a process of its own; 0: none ended it.
  int SignalOfRun(const Words& properties) {
    const pid_t child = fork();
    if (child == 0) _exit(Run(properties));
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }

  int Reopen(const Words& more = {}) {
    Words properties = {"operationcount=5", "drain=false", "reopen.from=" + Left()};
    properties.insert(properties.end(), more.begin(), more.end());
    return Run(properties);
  }

  std::string Left() const { return root_ + "/killed"; }
};

TEST_F(Reopening, AKillEndsTheProcessAndLeavesWhatWasAcknowledged) {
  fs::remove_all(root_ + "/output");
  EXPECT_EQ(SignalOfRun({"operationcount=10000", "kill.operations=5000", "threadcount=2"}),
            SIGKILL);
  EXPECT_FALSE(fs::exists(root_ + "/output/outcome.json"));
  std::vector<ClientWrites> clients;
  ASSERT_TRUE(ReadAcknowledged(root_ + "/output/acknowledged.bin", &clients).ok());
  ASSERT_EQ(clients.size(), 2u);
  const size_t written = clients[0].writes.size() + clients[1].writes.size();
  EXPECT_GE(written, 4800u);
  EXPECT_LE(written, 5200u);
}

TEST_F(Reopening, AKillComesAtItsTime) {
  EXPECT_EQ(SignalOfRun({"measure.seconds=30", "kill.seconds=0.05"}), SIGKILL);
}

TEST_F(Reopening, AStoreThatKeptEverythingHasNoLostRow) {
  LeaveKilled();
  ASSERT_EQ(Reopen(), 0) << errors_;
  EXPECT_EQ(PhaseNames(), (Words{"measure", "run"}));
  for (const char* phase : {"measure", "run"}) {
    EXPECT_EQ(MetricOf(phase, "recovery.lost_rows"), 0);
    EXPECT_GT(MetricOf(phase, "recovery.checked_rows"), 0);
    EXPECT_EQ(MetricOf(phase, "recovery.overwritten_rows"), 0) << "so few are checked first";
    EXPECT_GE(MetricOf(phase, "recovery.first_answer_s"), 0);
    EXPECT_TRUE(Phase(phase)["metrics"].contains("recovery.read_bytes"));
  }
  EXPECT_GE(MetricOf("measure", "recovery.first_answer_s"), MetricOf("measure", "open.seconds"));
}

TEST_F(Reopening, LostRowsFailAnEngineThatPromisedToKeepThem) {
  const auto before = engine_.rows;
  LeaveKilled();
  engine_.rows = before;
  EXPECT_EQ(Reopen(), 3);
  const nlohmann::json outcome = OutcomeJson();
  EXPECT_EQ(outcome["error"]["phase"], "check");
  const std::string message = outcome["error"]["message"];
  EXPECT_NE(message.find("acknowledged rows are lost"), std::string::npos) << message;
  EXPECT_NE(message.find("expected sequence"), std::string::npos) << message;
  EXPECT_TRUE(outcome["phases"].empty()) << "nothing is measured on a store that lost rows";
}

TEST_F(Reopening, RowsWithoutAPromiseAreANumber) {
  const auto before = engine_.rows;
  LeaveKilled();
  engine_.rows = before;
  engine_.survives_process = false;
  ASSERT_EQ(Reopen(), 0) << errors_;
  EXPECT_EQ(MetricOf("run", "recovery.lost_rows"), MetricOf("run", "recovery.checked_rows"));
}

TEST_F(Reopening, OneLostRowIsFound) {
  LeaveKilled();
  std::vector<ClientWrites> clients;
  ASSERT_TRUE(ReadAcknowledged(Left() + "/acknowledged.bin", &clients).ok());
  const auto busy = std::find_if(clients.begin(), clients.end(),
                                 [](const ClientWrites& client) { return !client.writes.empty(); });
  const std::string key = std::to_string(busy->writes.back().index);
  engine_.rows.erase("user" + std::string(10 - key.size(), '0') + key);
  EXPECT_EQ(Reopen({"operationcount=1", "threadcount=1", "mix.seed=77"}), 3);
}

TEST_F(Reopening, AFirstAnswerThatIsNotWhatWasWrittenIsWrongData) {
  LeaveKilled();
  engine_.distort = [](const std::string& value) { return value + "!"; };
  EXPECT_EQ(Reopen(), 3);
  EXPECT_EQ(OutcomeJson()["error"]["phase"], "first get");
  EXPECT_TRUE(OutcomeJson()["phases"].empty()) << "nothing is measured on wrong data";
}

TEST_F(Reopening, AStoreThatDoesNotOpenFailsWithItsReason) {
  LeaveKilled();
  engine_.hook = [](std::string_view call, std::string_view) {
    return call == "open" ? Status::Corruption("manifest: checksum") : Status::Ok();
  };
  EXPECT_EQ(Reopen(), 2);
  EXPECT_NE(errors_.find("manifest: checksum"), std::string::npos);
}

TEST_F(Reopening, ItNeedsWhatAKilledRunLeft) {
  EXPECT_EQ(Reopen(), 2);
  EXPECT_NE(errors_.find(Left() + "/acknowledged.bin"), std::string::npos) << errors_;
  fs::create_directories(Left());
  std::ofstream(Left() + "/acknowledged.bin") << "something else";
  EXPECT_EQ(Reopen(), 2);
  EXPECT_NE(errors_.find("expected acknowledged writes"), std::string::npos) << errors_;
}

TEST_F(Reopening, TheRateBeforeIsThatOfTheLastThird) {
  LeaveKilled();
  std::ofstream(Left() + "/series.csv")
      << "phase,elapsed,operations,throughput,engine.log_length\nwarmup,1,900,900,1\n"
         "measure,2,100,100,5\nmeasure,3,100,100,6\nmeasure,4,400,400,7\nmeasure,5,400,400,8\n"
         "measure,6";
  ASSERT_EQ(Reopen(), 0) << errors_;
  EXPECT_EQ(MetricOf("measure", "recovery.rate_before"), 400);
  EXPECT_EQ(MetricOf("measure", "recovery.log_bytes"), 8);
}

TEST_F(Reopening, MistakesAreFoundBeforeAnythingRuns) {
  const auto refuses = [&](const Words& flags, const Words& properties, const char* reason) {
    EXPECT_EQ(Drive(flags, properties), 1) << reason;
    EXPECT_NE(errors_.find(reason), std::string::npos) << errors_;
  };
  refuses({"-load", "-run"}, {"operationcount=9", "kill.seconds=1"}, "expected -run alone");
  refuses({"-run"}, {"operationcount=9", "kill.operations=9"}, "before the measured phase's end");
  refuses({"-run"}, {"measure.seconds=2", "kill.seconds=3"}, "before the measured phase's end");
  refuses({"-run"}, {"operationcount=9", "kill.operations=3", "deleteproportion=1"}, "deletes");
  refuses({"-run"}, {"operationcount=9", "kill.operations=3", "reopen.from=x"}, "reopen.from");
  refuses({"-run"}, {"operationcount=9", "kill.operations=3", "output.dir="}, "output.dir");
}

TEST(AcknowledgedWrites, ARingKeepsTheNewest) {
  const std::string path = testing::TempDir() + "/acknowledged.bin";
  std::unique_ptr<AcknowledgedWrites> writes;
  ASSERT_TRUE(AcknowledgedWrites::Create(path, 2, &writes).ok());
  constexpr uint64_t kBooked = AcknowledgedWrites::kKept + 10;
  for (uint64_t i = 0; i < kBooked; ++i) writes->Book(1, {i, i, i, i});
  std::vector<ClientWrites> clients;
  ASSERT_TRUE(ReadAcknowledged(path, &clients).ok());
  EXPECT_TRUE(clients[0].complete && clients[0].writes.empty());
  EXPECT_FALSE(clients[1].complete);
  EXPECT_EQ(clients[1].writes.size(), AcknowledgedWrites::kKept - 1);
  EXPECT_EQ(clients[1].writes.front().index, 11u);
  EXPECT_EQ(clients[1].writes.back().index, kBooked - 1);
  fs::remove(path);
}

}  // namespace
}  // namespace kvdyno
