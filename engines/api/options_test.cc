#include "kvdyno/api/options.h"

#include <gtest/gtest.h>

namespace kvdyno {
namespace {

struct Settings {
  bool checksums = true;
  int64_t levels = 7;
  double ratio = 0.1;
  uint64_t buffer_size = uint64_t{64} << 20;
  double interval = 0.25;
  std::string path;
  std::string filter = "bloom";
};

class OptionTableTest : public testing::Test {
 protected:
  OptionTableTest() {
    table_.Bool("checksums", &settings_.checksums, {.effect = "Verifies blocks."});
    table_.Integer("levels", &settings_.levels, {.effect = "Levels.", .min = 1, .max = 12});
    table_.Real("ratio", &settings_.ratio, {.effect = "A ratio.", .min = -1, .max = 1});
    table_.Bytes("buffer_size", &settings_.buffer_size,
                 {.effect = "Buffer.", .min = 4096, .shapes_data = true, .scales = true});
    table_.Seconds("interval", &settings_.interval, {.effect = "Interval.", .max = 60});
    table_.Text("path", &settings_.path, {.effect = "A path."});
    table_.Choice("filter", &settings_.filter, {"none", "bloom", "ribbon"}, {.effect = "Filter."});
  }

  std::string Error(std::string_view name, std::string_view text) {
    const auto before = table_.Values();
    const Status status = table_.Set(name, text);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << name << "=" << text;
    EXPECT_EQ(table_.Values(), before) << "a refused value must change nothing";
    return status.message();
  }

  Settings settings_;
  OptionTable table_;
};

TEST_F(OptionTableTest, DefaultsAreTheMembersInitialValues) {
  const std::map<std::string, std::string> expected = {
      {"checksums", "true"}, {"levels", "7"}, {"ratio", "0.1"},   {"buffer_size", "64MiB"},
      {"interval", "0.25s"}, {"path", ""},    {"filter", "bloom"}};
  EXPECT_EQ(table_.Values(), expected);
  for (const OptionDescriptor& option : table_.descriptors()) {
    EXPECT_EQ(option.default_text, expected.at(option.name));
  }
}

TEST_F(OptionTableTest, DescriptorsKeepOrderTypeAndNote) {
  std::vector<std::string> types;
  for (const OptionDescriptor& option : table_.descriptors()) {
    types.emplace_back(OptionTypeName(option.type));
  }
  EXPECT_EQ(types, (std::vector<std::string>{"bool", "integer", "real", "bytes", "seconds", "text",
                                             "choice"}));
  const OptionDescriptor& buffer = table_.descriptors()[3];
  EXPECT_EQ(buffer.name, "buffer_size");
  EXPECT_EQ(buffer.note.effect, "Buffer.");
  EXPECT_EQ(buffer.note.min, 4096);
  EXPECT_TRUE(buffer.note.shapes_data);
  EXPECT_TRUE(buffer.note.scales);
  EXPECT_FALSE(table_.descriptors()[0].note.scales);
  EXPECT_EQ(table_.descriptors()[6].choices.size(), 3u);
}

TEST_F(OptionTableTest, SetReachesTheStruct) {
  EXPECT_TRUE(table_.Set("checksums", "false").ok());
  EXPECT_TRUE(table_.Set("levels", "12").ok());
  EXPECT_TRUE(table_.Set("ratio", "-0.5").ok());
  EXPECT_TRUE(table_.Set("buffer_size", "1.5MiB").ok());
  EXPECT_TRUE(table_.Set("interval", "1min").ok());
  EXPECT_TRUE(table_.Set("path", "/x y").ok());
  EXPECT_TRUE(table_.Set("filter", "ribbon").ok());
  EXPECT_FALSE(settings_.checksums);
  EXPECT_EQ(settings_.levels, 12);
  EXPECT_EQ(settings_.ratio, -0.5);
  EXPECT_EQ(settings_.buffer_size, 3u << 19);
  EXPECT_EQ(settings_.interval, 60);
  EXPECT_EQ(settings_.path, "/x y");
  EXPECT_EQ(settings_.filter, "ribbon");
}

TEST_F(OptionTableTest, WhatGetSpellsSetReads) {
  settings_ = {false, 3, 1.0 / 3, 12345, 1e-7, "a=b", "none"};
  const auto spelled = table_.Values();
  settings_ = {};
  for (const auto& [name, text] : spelled) EXPECT_TRUE(table_.Set(name, text).ok()) << text;
  EXPECT_EQ(table_.Values(), spelled);
  EXPECT_EQ(settings_.ratio, 1.0 / 3);
  EXPECT_EQ(settings_.interval, 1e-7);
}

TEST_F(OptionTableTest, RangesAreInclusive) {
  EXPECT_TRUE(table_.Set("levels", "1").ok());
  EXPECT_TRUE(table_.Set("buffer_size", "4KiB").ok());
  EXPECT_EQ(Error("levels", "0"), "option levels: expected from 1 to 12, got '0'");
  EXPECT_EQ(Error("levels", "13"), "option levels: expected from 1 to 12, got '13'");
  EXPECT_EQ(Error("buffer_size", "1KiB"), "option buffer_size: expected 4KiB or more, got '1KiB'");
  EXPECT_EQ(Error("interval", "2min"), "option interval: expected from 0s to 60s, got '2min'");
  EXPECT_EQ(Error("ratio", "1.01"), "option ratio: expected from -1 to 1, got '1.01'");
}

TEST_F(OptionTableTest, RefusesWhatIsNotOfTheType) {
  EXPECT_EQ(Error("checksums", "yes"), "option checksums: expected true or false, got 'yes'");
  EXPECT_EQ(Error("levels", "3.5"), "option levels: expected an integer, got '3.5'");
  EXPECT_EQ(Error("levels", ""), "option levels: expected an integer, got ''");
  EXPECT_NE(Error("levels", "99999999999999999999").find("expected an integer"), std::string::npos);
  EXPECT_EQ(Error("ratio", "half"), "option ratio: expected a number, got 'half'");
  EXPECT_NE(Error("ratio", "nan").find("from -1 to 1"), std::string::npos);
  EXPECT_NE(Error("buffer_size", "64QB").find("expected a unit of"), std::string::npos);
  EXPECT_NE(Error("buffer_size", "-1").find("expected a number of bytes"), std::string::npos);
  EXPECT_NE(Error("interval", "1 week").find("got 'week'"), std::string::npos);
}

TEST_F(OptionTableTest, AWordCanStandForTheDefault) {
  uint64_t size = 8192;
  table_.Bytes("other", &size, {.effect = "Size.", .min = 4096, .default_word = "0"});
  EXPECT_EQ(table_.descriptors().back().note.effect, "Size. 0: the default.");
  EXPECT_TRUE(table_.Set("other", "4KiB").ok());
  EXPECT_TRUE(table_.Set("other", "0").ok());
  EXPECT_EQ(size, 8192u);
  EXPECT_EQ(table_.Values().at("other"), "8KiB");
  EXPECT_EQ(Error("other", "1"), "option other: expected 4KiB or more, got '1'");
}

TEST_F(OptionTableTest, WordsCanStandForSizes) {
  uint64_t size = 0;
  table_.Bytes("cache", &size, {.effect = "Cache.", .min = 4096, .max = 1 << 30},
               {{"auto", 0}, {"adaptive", UINT64_MAX}});
  EXPECT_EQ(table_.descriptors().back().default_text, "auto");
  EXPECT_EQ(table_.descriptors().back().words, (std::vector<std::string>{"auto", "adaptive"}));
  EXPECT_TRUE(table_.Set("cache", "adaptive").ok());
  EXPECT_EQ(size, UINT64_MAX);
  EXPECT_EQ(table_.Values().at("cache"), "adaptive");
  EXPECT_TRUE(table_.Set("cache", "8KiB").ok());
  EXPECT_EQ(size, 8192u);
  EXPECT_EQ(table_.Values().at("cache"), "8KiB");
  EXPECT_EQ(Error("cache", "0"),
            "option cache: expected from 4KiB to 1GiB, got '0'; known words: auto, adaptive");
  EXPECT_NE(Error("cache", "adaptve").find("known words: auto, adaptive"), std::string::npos);
  EXPECT_TRUE(table_.Set("cache", "auto").ok());
  EXPECT_EQ(size, 0u);
}

TEST_F(OptionTableTest, NamesTheNearestWord) {
  EXPECT_EQ(
      Error("filter", "blom"),
      "option filter: expected one of none, bloom, ribbon, got 'blom'; did you mean 'bloom'?");
  EXPECT_EQ(Error("bufer_size", "1"),
            "option bufer_size: expected a known option; did you mean 'buffer_size'?");
  EXPECT_EQ(Error("zzzzzz", "1"), "option zzzzzz: expected a known option");
}

TEST_F(OptionTableTest, PassesOtherNamesOnWhenItAcceptsThem) {
  EXPECT_FALSE(table_.accepts_others());
  std::map<std::string, std::string> others;
  table_.AcceptOthers(&others);
  EXPECT_TRUE(table_.accepts_others());
  EXPECT_TRUE(table_.Set("cache", "8 apples").ok());
  EXPECT_EQ(others, (std::map<std::string, std::string>{{"cache", "8 apples"}}));
  EXPECT_EQ(table_.Values().at("cache"), "8 apples");
  EXPECT_NE(Error("levels", "0"), "");
}

TEST(NearestWord, FindsSlipsOnly) {
  const std::vector<std::string> words = {"uniform", "zipfian", "latest"};
  EXPECT_EQ(NearestWord("zipfan", words), "zipfian");
  EXPECT_EQ(NearestWord("unifrom", words), "uniform");
  EXPECT_EQ(NearestWord("latest", words), "latest");
  EXPECT_EQ(NearestWord("pareto", words), "");
  EXPECT_EQ(NearestWord("", words), "");
  EXPECT_EQ(NearestWord("zipfian", {}), "");
}

}  // namespace
}  // namespace kvdyno
