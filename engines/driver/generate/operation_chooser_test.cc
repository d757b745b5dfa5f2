#include "kvdyno/generate/operation_chooser.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "kvdyno/base/testing/chi_square.h"

namespace kvdyno {
namespace {

OperationChooser Chooser(const OperationProportions& proportions) {
  OperationChooser chooser;
  const Status status = OperationChooser::Make(proportions, &chooser);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return chooser;
}

TEST(Operation, HasAMetricNameAndAYcsbName) {
  EXPECT_EQ(OperationName(Operation::kReadModifyWrite), "readmodifywrite");
  EXPECT_EQ(OperationYcsbName(Operation::kReadModifyWrite), "READMODIFYWRITE");
  EXPECT_EQ(OperationName(Operation::kDelete), "delete");
  std::set<std::string_view> names;
  for (size_t i = 0; i < kOperationCount; ++i)
    names.insert(OperationName(static_cast<Operation>(i)));
  EXPECT_EQ(names.size(), kOperationCount);
}

TEST(OperationChooser, FitsItsProportions) {
  const std::vector<double> expected = {0.5, 0.05, 0.2, 0.1, 0.001, 0.049, 0.07, 0.03};
  OperationProportions proportions{};
  std::copy(expected.begin(), expected.end(), proportions.begin());
  const OperationChooser chooser = Chooser(proportions);
  Random random(1);
  std::vector<uint64_t> counts(kMixOperationCount);
  for (int i = 0; i < 1000000; ++i) ++counts.at(static_cast<size_t>(chooser.Next(random)));
  EXPECT_LT(std::abs(ChiSquareDeviation(counts, expected)), kFits);
}

TEST(OperationChooser, Normalises) {
  const OperationChooser chooser = Chooser({95, 0, 5, 0, 0, 0});
  EXPECT_NEAR(chooser.Share(Operation::kRead), 0.95, 1e-15);
  EXPECT_EQ(chooser.Share(Operation::kUpdate), 0);
  EXPECT_NEAR(chooser.Share(Operation::kInsert), 0.05, 1e-15);
  EXPECT_EQ(chooser.Share(Operation::kDelete), 0);
}

TEST(OperationChooser, AnOnlyOperationIsAlwaysChosen) {
  for (size_t only = 0; only < kMixOperationCount; ++only) {
    OperationProportions proportions{};
    proportions[only] = 0.1;
    const OperationChooser chooser = Chooser(proportions);
    EXPECT_EQ(chooser.Share(static_cast<Operation>(only)), 1);
    Random random(only);
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(chooser.Next(random), static_cast<Operation>(only));
  }
}

TEST(OperationChooser, RefusesWhatIsNoMix) {
  OperationChooser chooser;
  EXPECT_EQ(OperationChooser::Make({0, 0, 0, 0, 0, 0}, &chooser).message(),
            "operation proportions: expected a sum above 0, got 0.000000");
  EXPECT_EQ(OperationChooser::Make({0.5, 0.6, -0.1, 0, 0, 0}, &chooser).message(),
            "proportion of insert: expected 0 or more, got -0.100000");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(OperationChooser::Make({nan, 1, 0, 0, 0, 0}, &chooser).ok());
  EXPECT_FALSE(OperationChooser::Make({1e308, 1e308, 0, 0, 0, 0}, &chooser).ok());
}

}  // namespace
}  // namespace kvdyno
