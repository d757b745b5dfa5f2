// An adapter's description: identity, options, counters.
#include <limits>
#include <map>
#include <set>

#include "fixture.h"

namespace kvdyno::conformance {

namespace {

TEST_F(Conformance, NamesItself) {
  EXPECT_FALSE(adapter().engine_name().empty());
  EXPECT_FALSE(adapter().engine_version().empty());
  EXPECT_FALSE(adapter().summary().empty());
  for (const std::string& caveat : adapter().caveats()) EXPECT_FALSE(caveat.empty());
}

TEST(ConformanceOptions, AreDescribed) {
  const std::unique_ptr<Adapter> adapter = MakeAdapter();
  std::set<std::string> names;
  for (const OptionDescriptor& option : adapter->options().descriptors()) {
    EXPECT_TRUE(IsSnakeCase(option.name)) << option.name;
    EXPECT_TRUE(names.insert(option.name).second) << option.name << " is described twice";
    EXPECT_FALSE(option.note.effect.empty()) << option.name;
    EXPECT_LE(option.note.min, option.note.max) << option.name;
    EXPECT_EQ(option.choices.empty(), option.type != OptionType::kChoice) << option.name;
  }
}

TEST(ConformanceOptions, DefaultsAreValid) {
  const std::unique_ptr<Adapter> adapter = MakeAdapter();
  const auto values = adapter->options().Values();
  for (const OptionDescriptor& option : adapter->options().descriptors()) {
    EXPECT_EQ(option.get(), option.default_text) << option.name;
    EXPECT_EQ(values.at(option.name), option.default_text) << option.name;
    const Status set = adapter->options().Set(option.name, option.default_text);
    EXPECT_TRUE(set.ok()) << option.name << ": " << set.ToString();
    EXPECT_EQ(option.get(), option.default_text) << option.name;
  }
}

TEST(ConformanceOptions, RangesAreChecked) {
  const std::unique_ptr<Adapter> adapter = MakeAdapter();
  OptionTable& options = adapter->options();
  for (const OptionDescriptor& option : options.descriptors()) {
    const bool number = option.type == OptionType::kInteger || option.type == OptionType::kBytes;
    if (number && option.note.max < 1e15) {
      const auto beyond = static_cast<long long>(option.note.max) + 1;
      EXPECT_EQ(options.Set(option.name, std::to_string(beyond)).code(), Code::kInvalidArgument)
          << option.name;
    }
    const std::string below = std::to_string(static_cast<long long>(option.note.min) - 1);
    if (option.type == OptionType::kInteger && below != option.note.default_word) {
      EXPECT_EQ(options.Set(option.name, below).code(), Code::kInvalidArgument) << option.name;
    }
    if (option.type != OptionType::kText) {
      EXPECT_EQ(options.Set(option.name, "nonsense").code(), Code::kInvalidArgument) << option.name;
    }
    EXPECT_EQ(option.get(), option.default_text) << option.name << ": a refused value was kept";
  }
}

TEST(ConformanceOptions, UnknownNameIsRefusedWithTheNearest) {
  const std::unique_ptr<Adapter> adapter = MakeAdapter();
  OptionTable& options = adapter->options();
  if (options.descriptors().empty()) GTEST_SKIP() << "the engine describes no options";
  const std::string known = options.descriptors().front().name;
  const Status set = options.Set(known + "x", "1");
  EXPECT_EQ(set.code(), Code::kInvalidArgument);
  EXPECT_NE(set.message().find(known), std::string::npos) << set.message();
}

using Samples = std::map<std::string, Counter>;

Samples Sampled(Adapter* adapter) {
  std::vector<Counter> counters;
  adapter->Sample(&counters);
  Samples samples;
  for (const Counter& counter : counters) {
    EXPECT_TRUE(IsSnakeCase(counter.name)) << counter.name;
    EXPECT_FALSE(counter.unit.empty()) << counter.name;
    EXPECT_GE(counter.value, 0) << counter.name;
    EXPECT_TRUE(samples.emplace(counter.name, counter).second) << counter.name << " twice";
  }
  return samples;
}

TEST_F(Conformance, CumulativeCountersNeverDecrease) {
  Samples before = Sampled(&adapter());
  for (int round = 0; round < 3; round++) {
    for (uint64_t i = 0; i < 500; i++) ExpectPut(NumberedKey(i), RandomBytes(i, 800));
    for (uint64_t i = 0; i < 500; i++) ExpectGet(NumberedKey(i), RandomBytes(i, 800));
    Settle();
    Samples after = Sampled(&adapter());
    for (const auto& [name, counter] : before) {
      ASSERT_TRUE(after.contains(name)) << name << " disappeared";
      EXPECT_EQ(after[name].cumulative, counter.cumulative) << name;
      if (!counter.cumulative) continue;
      EXPECT_GE(after[name].value, counter.value) << name;
    }
    before = std::move(after);
  }
}

}  // namespace

}  // namespace kvdyno::conformance
