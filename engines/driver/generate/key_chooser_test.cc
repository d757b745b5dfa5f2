#include "kvdyno/generate/key_chooser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kvdyno/base/testing/chi_square.h"

namespace kvdyno {
namespace {

constexpr int kDraws = 2000000;

std::unique_ptr<KeyChooser> Chooser(const KeyChooserSpec& spec) {
  std::unique_ptr<KeyChooser> chooser;
  const Status status = MakeKeyChooser(spec, &chooser);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return chooser;
}

std::vector<uint64_t> Counts(KeyChooser* chooser, uint64_t keys, uint64_t seed) {
  Random random(seed);
  std::vector<uint64_t> counts(keys);
  for (int i = 0; i < kDraws; ++i) ++counts.at(chooser->Next(random));
  return counts;
}

double Deviation(const KeyChooserSpec& spec, const std::vector<double>& expected) {
  const std::vector<uint64_t> counts = Counts(Chooser(spec).get(), expected.size(), 1);
  return std::abs(ChiSquareDeviation(counts, expected));
}

// Probabilities in proportion to (k + 1)^-theta.
std::vector<double> ZipfProbabilities(uint64_t n, double theta) {
  std::vector<double> probabilities(n);
  double sum = 0;
  for (uint64_t k = 0; k < n; ++k) {
    probabilities[k] = std::pow(static_cast<double>(k + 1), -theta);
    sum += probabilities[k];
  }
  for (double& probability : probabilities) probability /= sum;
  return probabilities;
}

// The composite distribution, unscattered, written out slice by slice.
std::vector<double> CompositeProbabilities(uint64_t n, double theta, bool uniform_remainder) {
  const uint64_t slice_count = std::min<uint64_t>(n, 1 << 14);
  const std::vector<double> slices = ZipfProbabilities(slice_count, theta);
  std::vector<double> probabilities;
  for (uint64_t slice = 0; slice < slice_count; ++slice) {
    const uint64_t width = n / slice_count + (slice < n % slice_count ? 1 : 0);
    for (const double offset : ZipfProbabilities(width, uniform_remainder ? 0 : theta)) {
      probabilities.push_back(slices[slice] * offset);
    }
  }
  return probabilities;
}

// "theta80", as a test's name.
std::string ThetaName(double theta) {
  return std::string("theta").append(std::to_string(std::lround(theta * 100)));
}

class SkewTest : public testing::TestWithParam<double> {
 protected:
  KeyChooserSpec Spec(std::string distribution, uint64_t keys) const {
    KeyChooserSpec spec;
    spec.distribution = std::move(distribution);
    spec.record_count = keys;
    spec.theta = GetParam();
    spec.scattered = false;
    return spec;
  }
};

TEST_P(SkewTest, ZipfianFits) {
  EXPECT_LT(Deviation(Spec("zipfian", 10007), ZipfProbabilities(10007, GetParam())), kFits);
  EXPECT_LT(Deviation(Spec("zipf-simple", 2), ZipfProbabilities(2, GetParam())), kFits);
}

TEST_P(SkewTest, CompositeFits) {
  // As many keys as slices, fewer, slices of one and two keys, slices of three and four.
  for (const uint64_t keys : {16384, 1000, 20000, 3 * 16384 + 1000}) {
    EXPECT_LT(
        Deviation(Spec("zipf-composite", keys), CompositeProbabilities(keys, GetParam(), false)),
        kFits)
        << keys;
    EXPECT_LT(Deviation(Spec("zipf-composite-uniform", keys),
                        CompositeProbabilities(keys, GetParam(), true)),
              kFits)
        << keys;
  }
}

TEST_P(SkewTest, LatestFitsAndFollowsInserts) {
  KeyChooserSpec spec = Spec("latest", 1000);
  std::atomic<uint64_t> key_count = 1000;
  spec.key_count = &key_count;
  const std::unique_ptr<KeyChooser> chooser = Chooser(spec);
  for (const uint64_t keys : {1000, 1100, 5003}) {
    key_count = keys;
    std::vector<double> expected = ZipfProbabilities(keys, GetParam());
    std::reverse(expected.begin(), expected.end());
    const std::vector<uint64_t> counts = Counts(chooser.get(), keys, keys);
    EXPECT_LT(std::abs(ChiSquareDeviation(counts, expected)), kFits) << keys;
  }
}

INSTANTIATE_TEST_SUITE_P(Thetas, SkewTest, testing::Values(0.8, 0.99, 1.0, 1.2),
                         [](const auto& theta) { return ThetaName(theta.param); });

// With scattering, the same draw gives another key; which one is a bijection over the real range.
TEST(Scattering, MovesEveryKeyToAPlaceOfItsOwn) {
  for (const char* distribution : {"zipfian", "zipf-composite", "hotspot"}) {
    KeyChooserSpec spec;
    spec.distribution = distribution;
    spec.record_count = 1000;
    const std::unique_ptr<KeyChooser> scattered = Chooser(spec);
    spec.scattered = false;
    const std::unique_ptr<KeyChooser> plain = Chooser(spec);
    Random random(3);
    Random same_random(3);
    constexpr uint64_t kUnknown = ~uint64_t{0};
    std::vector<uint64_t> place(1000, kUnknown);
    std::vector<bool> taken(1000);
    int moved = 0;
    for (int i = 0; i < 200000; ++i) {
      const uint64_t from = plain->Next(random);
      const uint64_t to = scattered->Next(same_random);
      ASSERT_LT(to, 1000u);
      if (place[from] == kUnknown) {
        ASSERT_FALSE(taken[to]) << distribution;
        place[from] = to;
        taken[to] = true;
        moved += from != to;
      }
      ASSERT_EQ(place[from], to) << distribution;
    }
    EXPECT_EQ(std::count(taken.begin(), taken.end(), true), 1000) << distribution;
    EXPECT_GT(moved, 980) << distribution;
  }
}

// The composite keeps neighbours together: its most popular slice is a run of keys.
TEST(Scattering, LeavesCompositeSlicesWhole) {
  KeyChooserSpec spec;
  spec.distribution = "zipf-composite";
  spec.record_count = 10 << 14;
  spec.theta = 0.8;
  spec.seed = 4;
  const std::vector<uint64_t> counts = Counts(Chooser(spec).get(), spec.record_count, 5);
  const auto top = std::max_element(counts.begin(), counts.end()) - counts.begin();
  EXPECT_EQ(top % 10, 0) << "a slice's first key is its most popular";
  const double slice_share = ZipfProbabilities(1 << 14, 0.8)[0];
  double drawn = 0;
  for (auto key = top; key < top + 10; ++key) {
    drawn += static_cast<double>(counts[static_cast<size_t>(key)]);
  }
  EXPECT_NEAR(drawn / kDraws, slice_share, 5 * std::sqrt(slice_share / kDraws));
}

TEST(Scattering, DependsOnTheSeedAlone) {
  KeyChooserSpec spec;
  spec.distribution = "zipfian";
  spec.record_count = 1000;
  const auto top = [&](uint64_t seed) {
    spec.seed = seed;
    const std::vector<uint64_t> counts = Counts(Chooser(spec).get(), 1000, seed + 100);
    return std::max_element(counts.begin(), counts.end()) - counts.begin();
  };
  Random other(9);
  spec.seed = 1;
  std::vector<uint64_t> counts(1000);
  const std::unique_ptr<KeyChooser> chooser = Chooser(spec);
  for (int i = 0; i < kDraws; ++i) ++counts[chooser->Next(other)];
  EXPECT_EQ(top(1), std::max_element(counts.begin(), counts.end()) - counts.begin());
  EXPECT_NE(top(1), top(2));
}

TEST(UniformChooser, FitsAndFollowsInserts) {
  KeyChooserSpec spec;
  spec.record_count = 1000;
  std::atomic<uint64_t> key_count = 1000;
  spec.key_count = &key_count;
  EXPECT_LT(Deviation(spec, std::vector<double>(1000, 1 / 1000.0)), kFits);
  key_count = 1500;
  EXPECT_LT(Deviation(spec, std::vector<double>(1500, 1 / 1500.0)), kFits);
}

TEST(SequentialChooser, ThreadsCoverTheRangeTogether) {
  KeyChooserSpec spec;
  spec.distribution = "sequential";
  spec.record_count = 10;
  spec.thread_count = 4;
  Random random(1);
  std::vector<int> visits(10);
  for (spec.thread = 0; spec.thread < 4; ++spec.thread) {
    const std::unique_ptr<KeyChooser> chooser = Chooser(spec);
    const uint64_t own = (10 - spec.thread + 3) / 4;
    for (int lap = 0; lap < 3; ++lap) {
      for (uint64_t i = 0; i < own; ++i) {
        const uint64_t key = chooser->Next(random);
        EXPECT_EQ(key, spec.thread + 4 * i);
        ++visits[key];
      }
    }
  }
  EXPECT_EQ(visits, std::vector<int>(10, 3));
}

TEST(SequentialChooser, StaysInsideARangeSmallerThanTheThreads) {
  KeyChooserSpec spec;
  spec.distribution = "sequential";
  spec.record_count = 2;
  spec.thread = 7;
  spec.thread_count = 8;
  Random random(1);
  const std::unique_ptr<KeyChooser> chooser = Chooser(spec);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(chooser->Next(random), 1u);
}

TEST(HotspotChooser, Fits) {
  KeyChooserSpec spec;
  spec.distribution = "hotspot";
  spec.record_count = 1000;
  spec.scattered = false;
  std::vector<double> expected(1000, 0.2 / 800);
  std::fill(expected.begin(), expected.begin() + 200, 0.8 / 200);
  EXPECT_LT(Deviation(spec, expected), kFits);

  spec.hotspot_data_fraction = 1;
  EXPECT_LT(Deviation(spec, std::vector<double>(1000, 1 / 1000.0)), kFits);

  spec.hotspot_data_fraction = 0;
  spec.hotspot_operation_fraction = 1;
  std::vector<double> first(1000);
  first[0] = 1;
  EXPECT_EQ(Deviation(spec, first), 0) << "one key is hot at least";
}

TEST(ExponentialChooser, FitsAndFollowsInserts) {
  KeyChooserSpec spec;
  spec.distribution = "exponential";
  spec.record_count = 1000;
  std::atomic<uint64_t> key_count = 1000;
  spec.key_count = &key_count;
  const std::unique_ptr<KeyChooser> chooser = Chooser(spec);
  const double rate = -std::log(0.05) / (0.8571428571 * 1000);
  for (const uint64_t keys : {1000, 1700}) {
    key_count = keys;
    std::vector<double> expected(keys);
    for (size_t d = 0; d < keys; ++d) {
      const double x = static_cast<double>(d);
      expected[keys - 1 - d] = (std::exp(-rate * x) - std::exp(-rate * (x + 1))) /
                               (1 - std::exp(-rate * static_cast<double>(keys)));
    }
    const std::vector<uint64_t> counts = Counts(chooser.get(), keys, keys);
    EXPECT_LT(std::abs(ChiSquareDeviation(counts, expected)), kFits) << keys;
  }
}

TEST(MakeKeyChooser, EveryNameStaysInsideTheSmallestRanges) {
  for (const std::string& name : DistributionNames()) {
    for (const uint64_t keys : {1, 2, 3}) {
      KeyChooserSpec spec;
      spec.distribution = name;
      spec.record_count = keys;
      const std::unique_ptr<KeyChooser> chooser = Chooser(spec);
      Random random(keys);
      for (int i = 0; i < 1000; ++i) ASSERT_LT(chooser->Next(random), keys) << name;
    }
  }
}

TEST(MakeKeyChooser, RefusesUnknownNames) {
  KeyChooserSpec spec;
  spec.distribution = "zipfan";
  spec.record_count = 1;
  std::unique_ptr<KeyChooser> chooser;
  const Status status = MakeKeyChooser(spec, &chooser);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("distribution 'zipfan': expected one of uniform sequential"),
            std::string::npos);
  EXPECT_NE(status.message().find("did you mean 'zipfian'?"), std::string::npos);
  EXPECT_EQ(chooser, nullptr);
}

TEST(MakeKeyChooser, RefusesParametersOutOfRange) {
  const auto error = [](auto change) {
    KeyChooserSpec spec;
    spec.record_count = 10;
    change(&spec);
    std::unique_ptr<KeyChooser> chooser;
    return MakeKeyChooser(spec, &chooser).message();
  };
  using Spec = KeyChooserSpec;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(error([](Spec* s) { s->theta = 0; }),
            "distribution parameter theta: expected more than 0, got 0.000000");
  EXPECT_NE(error([&](Spec* s) { s->theta = nan; }).find("theta"), std::string::npos);
  EXPECT_NE(error([](Spec* s) { s->record_count = 0; }).find("record_count"), std::string::npos);
  EXPECT_NE(error([](Spec* s) { s->hotspot_data_fraction = 1.1; }).find("hotspot_data_fraction"),
            std::string::npos);
  EXPECT_NE(error([](Spec* s) { s->hotspot_operation_fraction = -1; }).find("operation_fraction"),
            std::string::npos);
  EXPECT_NE(error([](Spec* s) { s->exponential_percentile = 100; }).find("percentile"),
            std::string::npos);
  EXPECT_NE(error([](Spec* s) { s->exponential_fraction = 0; }).find("exponential_fraction"),
            std::string::npos);
  EXPECT_EQ(error([](Spec*) {}), "");
}

}  // namespace
}  // namespace kvdyno
