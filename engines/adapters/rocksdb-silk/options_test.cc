// What the options make of the share, and what cannot be.
#include "options.h"

#include <gtest/gtest.h>

namespace kvdyno::silk {

namespace {

TEST(SilkOptions, DefaultsAreTheArtefacts) {
  tuners::SilkSettings settings;
  ASSERT_TRUE(Options().Resolve(&settings).ok());
  EXPECT_EQ(settings.bandwidth_bytes_per_s, 200e6);
  EXPECT_EQ(settings.floor_bytes_per_s, 10e6);
  EXPECT_EQ(settings.step_bytes_per_s, 10e6);
  EXPECT_EQ(settings.peak_share, 0.75);
  EXPECT_EQ(Options().window, 0.01);
}

TEST(SilkOptions, MoreThanThereIsCannotBeGuaranteed) {
  Options options;
  OptionTable table;
  options.Describe(&table);
  ASSERT_TRUE(table.Set("bandwidth", "20000000").ok());
  ASSERT_TRUE(table.Set("compaction_bandwidth", "20000001").ok());
  tuners::SilkSettings settings;
  const Status resolved = options.Resolve(&settings);
  EXPECT_EQ(resolved.code(), Code::kInvalidArgument);
  EXPECT_EQ(resolved.message(),
            "option compaction_bandwidth: expected at most bandwidth, 20000000 bytes a second, got "
            "20000001");
}

}  // namespace

}  // namespace kvdyno::silk
