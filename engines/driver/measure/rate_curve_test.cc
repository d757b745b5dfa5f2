// Time to 90 % of the final rate, from curves whose answer is known.
#include "measure/rate_curve.h"

#include <gtest/gtest.h>

namespace kvdyno {
namespace {

constexpr uint64_t kStep = RateCurve::kStepNs;

// `rate(i)` operations in step i, spread over two additions.
template <typename Rate>
RateCurve CurveOf(uint64_t steps, Rate rate) {
  RateCurve curve;
  for (uint64_t i = 0; i < steps; ++i) {
    const uint64_t operations = rate(i);
    curve.Add(i * kStep, operations / 2);
    curve.Add((i + 1) * kStep - 1, operations - operations / 2);
  }
  return curve;
}

TEST(RateCurve, ASteadyRateIsThereAfterOneWindow) {
  const auto steady = [](uint64_t) { return 50; };
  EXPECT_DOUBLE_EQ(CurveOf(300, steady).SecondsTo90(30).value(), 1.0);
  EXPECT_DOUBLE_EQ(CurveOf(15, steady).SecondsTo90(1.5).value(), 0.2) << "a tenth, in whole steps";
}

TEST(RateCurve, AStepUpIsSeenWhereItIs) {
  const auto late = [](uint64_t i) { return i < 70 ? 10 : 100; };
  // The window of ten steps ending with step n holds at least 900 when nine are fast.
  EXPECT_DOUBLE_EQ(CurveOf(300, late).SecondsTo90(30).value(), 7.9);
}

TEST(RateCurve, ARampReachesNineTenthsOfItsLastThird) {
  const auto ramp = [](uint64_t i) { return i < 100 ? i : 100; };
  // Windows of ten steps: the mean of i-9 .. i is 90 at i = 94.5, so that step 95 is the first.
  EXPECT_DOUBLE_EQ(CurveOf(300, ramp).SecondsTo90(30).value(), 9.6);
}

TEST(RateCurve, ARateThatFallsWasThereFromTheBeginning) {
  const auto burst = [](uint64_t i) { return i < 50 ? 200 : 40; };
  EXPECT_DOUBLE_EQ(CurveOf(300, burst).SecondsTo90(30).value(), 1.0);
}

TEST(RateCurve, AGivenRateIsReachedWhereItIsOrNever) {
  const auto late = [](uint64_t i) { return i < 70 ? 10 : 100; };
  EXPECT_DOUBLE_EQ(CurveOf(300, late).SecondsToNear(1000, 30).value(), 7.9);
  EXPECT_DOUBLE_EQ(CurveOf(300, late).SecondsToNear(100, 30).value(), 1.0);
  EXPECT_FALSE(CurveOf(300, late).SecondsToNear(2000, 30).has_value());
}

TEST(RateCurve, ShortOrIdlePhasesHaveNoAnswer) {
  EXPECT_FALSE(CurveOf(9, [](uint64_t) { return 5; }).SecondsTo90(0.99).has_value());
  EXPECT_FALSE(CurveOf(300, [](uint64_t i) { return i < 100 ? 5 : 0; }).SecondsTo90(30));
  EXPECT_FALSE(RateCurve().SecondsTo90(30).has_value());
}

TEST(RateCurve, LongPhasesHaveWiderSteps) {
  const auto late = [](uint64_t i) { return i < 1000 ? 10 : 100; };
  RateCurve curve = CurveOf(3000, late);
  EXPECT_EQ(curve.step_ns(), 4 * kStep);
  // Steps of 0.4 s, windows of three: all of them after 100 s.
  EXPECT_NEAR(curve.SecondsTo90(300).value(), 101.2, 1e-9);
  curve.Reset();
  EXPECT_EQ(curve.step_ns(), kStep);
  EXPECT_FALSE(curve.SecondsTo90(300).has_value());
}

TEST(RateCurve, CurvesOfDifferentWidthAddUp) {
  RateCurve narrow = CurveOf(500, [](uint64_t) { return 4; });
  const RateCurve wide = CurveOf(1500, [](uint64_t i) { return i < 750 ? 4 : 12; });
  RateCurve sum;
  sum.Merge(narrow);
  sum.Merge(wide);
  EXPECT_EQ(sum.step_ns(), 2 * kStep);
  // 8 a step up to 50 s, 4 to 75 s, then 12, which is the final rate.
  EXPECT_NEAR(sum.SecondsTo90(150).value(), 75.9, 0.11);
  EXPECT_EQ(narrow.StepEnd(0), kStep);
  EXPECT_EQ(wide.StepEnd(0), 2 * kStep);
}

}  // namespace
}  // namespace kvdyno
