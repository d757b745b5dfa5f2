// Debts: what ageing, warm-up and measurement leave undone, and who pays for it; and what a store
// takes on the disk.
#include <algorithm>
#include <mutex>

#include "testing/driver_fixture.h"

namespace kvdyno {
namespace {

using Names = std::vector<std::string>;

class Debt : public DriverFixture {
 protected:
  // 20 puts of 800 bytes in each of warm-up and measurement.
  const Names puts_ = {"recordcount=10", "readproportion=0", "updateproportion=1",
                       "operationcount=20", "warmup.operations=20"};
};

TEST_F(Debt, IsReportedAtTheBordersOfEachPhase) {
  engine_.debt = 500;
  Names slack = puts_;
  slack.insert(slack.end(), {"rest=false", "drain=false"});
  ASSERT_EQ(Drive({"-run"}, slack), 0) << errors_;
  EXPECT_EQ(MetricOf("warmup", "debt.begin"), 500);
  EXPECT_EQ(MetricOf("warmup", "debt"), 500 + 20 * 800);
  EXPECT_EQ(MetricOf("measure", "debt.begin"), 500 + 20 * 800);
  EXPECT_EQ(MetricOf("measure", "debt"), 500 + 40 * 800);
  EXPECT_EQ(MetricOf("measure", "debt.change"), 20 * 800);
  EXPECT_EQ(MetricOf("run", "debt.change"), 20 * 800);
  EXPECT_TRUE(engine_.settled_to.empty());
}

TEST_F(Debt, EachPhasePaysItsOwn) {
  engine_.debt = 500;
  ASSERT_EQ(Drive({"-run"}, puts_), 0) << errors_;
  EXPECT_EQ(PhaseNames(), (Names{"warmup", "rest", "measure", "drain", "run"}));
  EXPECT_EQ(engine_.settled_to, (std::vector<std::optional<uint64_t>>{500, 500}));
  EXPECT_EQ(MetricOf("rest", "debt"), 500);
  EXPECT_EQ(MetricOf("rest", "debt.change"), -20 * 800);
  EXPECT_EQ(MetricOf("measure", "debt.begin"), 500);
  EXPECT_EQ(MetricOf("drain", "debt"), 500);
  EXPECT_EQ(MetricOf("run", "debt.change"), 0);
  EXPECT_EQ(errors_, "");
}

TEST_F(Debt, ALoadSettlesByTheEnginesOwnRules) {
  engine_.debt = 0;
  engine_.debt_when_settled = 300;
  ASSERT_EQ(Drive({"-load"}, {"recordcount=10", "age=2"}), 0) << errors_;
  EXPECT_EQ(engine_.settled_to, (std::vector<std::optional<uint64_t>>(2, std::nullopt)));
  EXPECT_EQ(MetricOf("age", "debt"), 20 * 800);
  EXPECT_EQ(MetricOf("age-settle", "debt"), 300);
}

TEST_F(Debt, WithoutAWarmUpThereIsNoRest) {
  engine_.debt = 500;
  ASSERT_EQ(Drive({"-load", "-run"}, {"recordcount=10", "operationcount=20"}), 0);
  EXPECT_EQ(PhaseNames(), (Names{"load", "settle", "build", "measure", "drain", "run"}));
}

TEST_F(Debt, OneThatStaysIsReported) {
  engine_.debt = 500;
  engine_.keeps_debt = true;
  ASSERT_EQ(Drive({"-run"}, puts_), 0) << errors_;
  EXPECT_NE(errors_.find("rest: expected a debt of at most 500 bytes at the end, got 16500\n"),
            std::string::npos)
      << errors_;
  EXPECT_NE(errors_.find("drain: expected"), std::string::npos) << errors_;
  EXPECT_EQ(MetricOf("drain", "debt"), 500 + 40 * 800);
}

TEST_F(Debt, AnUnknownOneIsNotReported) {
  ASSERT_EQ(Drive({"-run"}, puts_), 0) << errors_;
  EXPECT_EQ(engine_.settled_to, (std::vector<std::optional<uint64_t>>(2, std::nullopt)));
  for (const char* metric : {"debt", "debt.begin", "debt.change"}) {
    EXPECT_FALSE(Phase("measure")["metrics"].contains(metric)) << metric;
  }
}

class Age : public DriverFixture {
 protected:
  using Puts = std::map<std::string, int>;  // key to number

  // 300 puts by three threads.
  Puts PutsOf(const Names& properties) {
    std::mutex mutex;
    Puts puts;
    engine_.hook = [&](std::string_view call, std::string_view key) {
      if (call != "put") return Status::Ok();
      const std::lock_guard lock(mutex);
      ++puts[std::string(key)];
      return Status::Ok();
    };
    Names all = {"recordcount=200", "age=1.5", "requestdistribution=zipfian"};
    all.insert(all.end(), properties.begin(), properties.end());
    EXPECT_EQ(Drive({"-load", "-threads", "3"}, all), 0) << errors_;
    engine_.hook = nullptr;
    return puts;
  }
};

TEST_F(Age, OverwritesMultiplesOfTheDataAfterTheBuild) {
  PutsOf({"update.mode=readmodifywrite"});
  EXPECT_EQ(PhaseNames(), (Names{"load", "settle", "build", "age", "age-settle"}));
  EXPECT_EQ(Phase("build")["covers"], (Names{"load", "settle"}));
  EXPECT_EQ(MetricOf("build", "operations"), 200);
  EXPECT_EQ(MetricOf("age", "operations"), 300);
  EXPECT_EQ(MetricOf("age", "update.operations"), 300);
  EXPECT_EQ(engine_.calls["put"], 300u);
  EXPECT_EQ(engine_.calls["get"], 0u) << "ageing never reads";
  EXPECT_EQ(engine_.rows.size(), 200u) << "no key is new";
  EXPECT_TRUE(Phase("age-settle")["metrics"].contains("disk.used"));
  EXPECT_TRUE(Phase("age-settle")["metrics"].contains("space_amplification"));
}

TEST_F(Age, WithoutALoadThereIsNothingToAge) {
  ASSERT_EQ(Drive({"-load"}, {"recordcount=10"}), 0);
  ASSERT_EQ(Drive({"-run"}, {"recordcount=10", "operationcount=5", "age=3"}), 0) << errors_;
  EXPECT_EQ(PhaseNames(), (Names{"measure", "drain", "run"}));
}

TEST_F(Age, DependsOnTheSeedAndTheKeysChosenButNotOnTheMixsSeed) {
  const Puts once = PutsOf({});
  EXPECT_TRUE(PutsOf({}) == once) << "whichever thread is faster";
  EXPECT_TRUE(PutsOf({"mix.seed=9"}) == once);
  EXPECT_FALSE(PutsOf({"seed=9"}) == once);
  EXPECT_FALSE(PutsOf({"zipfian_const=0.5"}) == once);
  EXPECT_FALSE(PutsOf({"scattered=false"}) == once);
  EXPECT_GT(once.size(), 30u);
  EXPECT_LT(once.size(), 170u) << "popular keys take most of the puts";
}

TEST_F(Age, LeavesValuesThatVerify) {
  ASSERT_EQ(
      Drive({"-load", "-run", "-threads", "2"},
            {"recordcount=100", "age=3", "operationcount=400", "verify=true", "readproportion=0.5",
             "updateproportion=0.3", "scanproportion=0.2", "maxscanlength=10"}),
      0)
      << errors_;
  ASSERT_EQ(Drive({"-run"}, {"recordcount=100", "operationcount=400", "verify=true"}), 0)
      << errors_;
}

TEST_F(Age, LeavesTheMixsDrawsAsTheyAre) {
  std::vector<std::string> keys;
  engine_.hook = [&](std::string_view call, std::string_view key) {
    if (call == "get") keys.emplace_back(key);
    return Status::Ok();
  };
  const auto reads = [&](const Names& more) {
    keys.clear();
    Names all = {"recordcount=50", "operationcount=30", "readproportion=1", "updateproportion=0"};
    all.insert(all.end(), more.begin(), more.end());
    EXPECT_EQ(Drive({"-load", "-run"}, all), 0) << errors_;
    return keys;
  };
  const auto young = reads({});
  EXPECT_EQ(reads({"age=2"}), young);
  EXPECT_EQ(reads({"mix.seed=1"}), young) << "seed is 1";
  const auto other = reads({"mix.seed=2"});
  EXPECT_NE(other, young);
  EXPECT_NE(reads({"mix.seed=3"}), other);
}

TEST_F(Age, MixSeedMovesNoPopularKey) {
  const auto most_read = [&](const char* seed) {
    std::map<std::string, int> counts;
    engine_.hook = [&](std::string_view call, std::string_view key) {
      if (call == "get") ++counts[std::string(key)];
      return Status::Ok();
    };
    EXPECT_EQ(Drive({"-load", "-run"}, {"recordcount=50", "operationcount=2000", "readproportion=1",
                                        "updateproportion=0", "requestdistribution=zipfian",
                                        "zipfian_const=1.5", seed}),
              0);
    return std::max_element(counts.begin(), counts.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  };
  EXPECT_EQ(most_read("mix.seed=7"), most_read("mix.seed=8"));
}

TEST_F(Age, IsRefusedWhereItCannotBeSettledOrAnyKeyMayBeMissing) {
  engine_.can_settle = false;
  EXPECT_EQ(Drive({"-load"}, {"age=1"}), 1);
  EXPECT_NE(errors_.find("age: expected an engine that can settle, got toy"), std::string::npos);
  EXPECT_EQ(Drive({"-run"}, {"age=1", "operationcount=1"}), 0) << "it ages nothing";
  engine_.can_settle = true;
  EXPECT_EQ(Drive({"-load"}, {"age=1", "load.seconds=5"}), 1);
  EXPECT_NE(errors_.find("load.seconds"), std::string::npos) << errors_;
}

class Space : public DriverFixture {};

TEST_F(Space, IsTheDiskOverTheRecords) {
  const Names inserts = {"recordcount=100", "readproportion=0", "updateproportion=0",
                         "insertproportion=1", "operationcount=50"};
  engine_.hook = [&](std::string_view call, std::string_view) {
    if (call == "open") std::ofstream(root_ + "/data/file") << std::string(1 << 20, 'x');
    return Status::Ok();
  };
  ASSERT_EQ(Drive({"-load", "-run"}, inserts), 0) << errors_;
  EXPECT_DOUBLE_EQ(MetricOf("build", "space_amplification"),
                   MetricOf("build", "disk.used") / (100 * 814));
  EXPECT_DOUBLE_EQ(MetricOf("run", "space_amplification"),
                   MetricOf("run", "disk.used") / (150 * 814));
  EXPECT_DOUBLE_EQ(MetricOf("drain", "space_amplification"),
                   MetricOf("run", "space_amplification"));
}

TEST_F(Space, IsNotKnownAfterDeletes) {
  ASSERT_EQ(
      Drive({"-load", "-run"}, {"recordcount=100", "deleteproportion=0.5", "operationcount=50"}),
      0);
  EXPECT_TRUE(Phase("run")["metrics"].contains("disk.used"));
  EXPECT_FALSE(Phase("run")["metrics"].contains("space_amplification"));
}

}  // namespace
}  // namespace kvdyno
