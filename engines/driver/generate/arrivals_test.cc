#include "kvdyno/generate/arrivals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace kvdyno {
namespace {

Arrivals Schedule(const ArrivalSpec& spec) {
  Arrivals arrivals;
  const Status status = Arrivals::Make(spec, &arrivals);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return arrivals;
}

// The starts of all threads together before `end_ns`, in order.
std::vector<uint64_t> Merged(ArrivalSpec spec, uint64_t threads, uint64_t end_ns) {
  std::vector<uint64_t> starts;
  spec.thread_count = threads;
  for (spec.thread = 0; spec.thread < threads; ++spec.thread) {
    Arrivals arrivals = Schedule(spec);
    Random random(spec.thread + 1);
    uint64_t previous = 0;
    for (uint64_t at = arrivals.NextNs(random); at < end_ns; at = arrivals.NextNs(random)) {
      EXPECT_GE(at, previous);
      previous = at;
      starts.push_back(at);
    }
  }
  std::sort(starts.begin(), starts.end());
  return starts;
}

uint64_t CountBetween(const std::vector<uint64_t>& starts, double from_s, double to_s) {
  return static_cast<uint64_t>(std::count_if(starts.begin(), starts.end(), [&](uint64_t at) {
    return static_cast<double>(at) >= from_s * 1e9 && static_cast<double>(at) < to_s * 1e9;
  }));
}

TEST(Arrivals, ConstantOnesOfAllThreadsAreEvenlySpaced) {
  const std::vector<uint64_t> starts = Merged({.operations_per_second = 1000}, 3, 1'000'000'000);
  ASSERT_EQ(starts.size(), 1000u);
  for (size_t i = 0; i < starts.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(starts[i]), static_cast<double>(i) * 1e6, 1.0);
  }
}

TEST(Arrivals, ConstantOnesDoNotDrift) {
  Arrivals arrivals = Schedule({.operations_per_second = 3});
  Random random(1);
  uint64_t last = 0;
  for (int i = 0; i <= 3'000'000; ++i) last = arrivals.NextNs(random);
  EXPECT_NEAR(static_cast<double>(last), 1e15, 2.0);
}

// In a Poisson process counts per interval have a variance equal to their mean, and gaps are
// exponential: their deviation equals their mean. Both hold for one thread and for the sum of all.
TEST(Arrivals, PoissonOnesHaveTheMeanAndVarianceOfPoisson) {
  for (const uint64_t threads : {1, 4}) {
    const std::vector<uint64_t> starts =
        Merged({.poisson = true, .operations_per_second = 2000}, threads, 100'000'000'000);
    const double count = static_cast<double>(starts.size());
    EXPECT_NEAR(count, 200000, 5 * std::sqrt(200000));

    std::vector<double> bins(10000);
    for (const uint64_t at : starts) ++bins[at / 10'000'000];
    double variance = 0;
    for (const double bin : bins) variance += (bin - 20) * (bin - 20) / 10000;
    EXPECT_NEAR(variance, 20, 5 * 20 * std::sqrt(2.0 / 10000));

    double squares = 0;
    for (size_t i = 1; i < starts.size(); ++i) {
      squares += std::pow((static_cast<double>(starts[i] - starts[i - 1])) / 5e5 - 1, 2);
    }
    EXPECT_NEAR(squares / count, 1, 0.05);
  }
}

TEST(Arrivals, FollowRateSteps) {
  const std::vector<RateStep> steps = {{2, 3000}, {3.5, 10}, {8, 500}};
  for (const bool poisson : {false, true}) {
    const std::vector<uint64_t> starts = Merged(
        {.poisson = poisson, .operations_per_second = 1000, .steps = steps}, 4, 10'000'000'000);
    const double slack = poisson ? 5 : 0.05;
    EXPECT_NEAR(CountBetween(starts, 0, 2), 2000, slack * std::sqrt(2000));
    EXPECT_NEAR(CountBetween(starts, 2, 3.5), 4500, slack * std::sqrt(4500));
    EXPECT_NEAR(CountBetween(starts, 3.5, 8), 45, slack * std::sqrt(45) + 1);
    EXPECT_NEAR(CountBetween(starts, 8, 10), 1000, slack * std::sqrt(1000));
  }
}

TEST(Arrivals, AStepAtZeroNeedsNoRateBefore) {
  Arrivals arrivals = Schedule({.steps = {{0, 10}}});
  Random random(1);
  EXPECT_EQ(arrivals.NextNs(random), 0u);
  EXPECT_EQ(arrivals.NextNs(random), 100'000'000u);
}

TEST(Arrivals, RefuseRatesThatAreNone) {
  Arrivals arrivals;
  EXPECT_EQ(Arrivals::Make({}, &arrivals).message(),
            "arrival rate: expected more than 0 operations a second, got 0.000000");
  EXPECT_FALSE(Arrivals::Make({.operations_per_second = -1}, &arrivals).ok());
  EXPECT_FALSE(Arrivals::Make({.steps = {{5, 10}}}, &arrivals).ok()) << "no rate before 5 s";
  EXPECT_FALSE(Arrivals::Make({.operations_per_second = INFINITY}, &arrivals).ok());
}

TEST(Arrivals, CountsWhatIsLeft) {
  Random random(1);
  const ArrivalSpec spec = {.operations_per_second = 1000, .steps = {{1, 2000}}, .thread_count = 2};
  Arrivals counted;
  ASSERT_TRUE(Arrivals::Make(spec, &counted).ok());
  for (int i = 0; i < 7; ++i) counted.NextNs(random);
  for (const uint64_t end_ns : {uint64_t{500'000'000}, uint64_t{1'700'000'000}}) {
    Arrivals walked = counted;
    uint64_t left = 0;
    while (walked.NextNs(random) < end_ns) ++left;
    EXPECT_EQ(counted.CountBefore(end_ns), left);
  }
  EXPECT_EQ(counted.CountBefore(0), 0u);
}

TEST(ParseRateSteps, ReadsStepsAndComments) {
  std::vector<RateStep> steps;
  const Status status = ParseRateSteps("# ramp\n0 100\n\n 10\t2000 \r\n20.5 50.5", "r.txt", &steps);
  ASSERT_TRUE(status.ok()) << status.ToString();
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[1].at_seconds, 10);
  EXPECT_EQ(steps[1].operations_per_second, 2000);
  EXPECT_EQ(steps[2].at_seconds, 20.5);
  EXPECT_EQ(steps[2].operations_per_second, 50.5);
}

TEST(ParseRateSteps, NamesTheLine) {
  const auto error = [](std::string_view text) {
    std::vector<RateStep> steps;
    return ParseRateSteps(text, "r.txt", &steps).message();
  };
  EXPECT_EQ(error("0 100\nfast\n"),
            "rate file r.txt:2: expected 'timestamp_seconds new_ops_per_second', got 'fast'");
  EXPECT_NE(error("\n\n5").find("r.txt:3:"), std::string::npos);
  EXPECT_NE(error("0 1 2").find("r.txt:1:"), std::string::npos);
  EXPECT_NE(error("0 nan").find("r.txt:1:"), std::string::npos);
  EXPECT_NE(error("0 0").find("expected more than 0 operations"), std::string::npos);
  EXPECT_NE(error("0 -5").find("expected more than 0 operations"), std::string::npos);
  EXPECT_NE(error("-1 5").find("r.txt:1: expected a timestamp"), std::string::npos);
  EXPECT_NE(error("5 5\n5 6").find("r.txt:2: expected a timestamp later"), std::string::npos);
  EXPECT_NE(error("# nothing\n").find("got none"), std::string::npos);
}

}  // namespace
}  // namespace kvdyno
