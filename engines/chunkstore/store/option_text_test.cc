#include "chunkstore/option_text.h"

#include <gtest/gtest.h>

namespace chunkstore {
namespace {

std::string Text(const Options& options, std::string_view name) {
  std::string text;
  EXPECT_TRUE(GetOption(name, options, &text)) << name;
  return text;
}

TEST(OptionText, SpellsDefaultsAsWords) {
  const Options options;
  EXPECT_EQ(Text(options, "memory_budget"), "auto");
  EXPECT_EQ(Text(options, "munk_cache_size"), "adaptive");
  EXPECT_EQ(Text(options, "block_size"), "4KiB");
  EXPECT_EQ(Text(options, "durability"), "async");
  EXPECT_EQ(Text(options, "log_lookup"), "index");
  EXPECT_EQ(Text(options, "direct_io"), "true");
  EXPECT_EQ(Text(options, "bloom_bits"), "10");
  std::string text;
  EXPECT_FALSE(GetOption("no_such_option", options, &text));
}

TEST(OptionText, ReadsWhatItSpells) {
  Options options;
  const std::pair<const char*, const char*> settings[] = {
      {"read_only", "true"},      {"durability", "sync"},      {"checkpoint_interval_s", "0.5"},
      {"memory_budget", "64MiB"}, {"munk_cache_size", "0"},    {"row_cache_size", "adaptive"},
      {"log_lookup", "bloom"},    {"bloom_split", "4"},        {"log_limit", "auto"},
      {"max_open_files", "1000"}, {"background_threads", "2"},
  };
  for (const auto& [name, text] : settings) {
    const kvdyno::Status set = SetOption(name, text, &options);
    EXPECT_TRUE(set.ok()) << set.ToString();
    EXPECT_EQ(Text(options, name), text);
  }
  EXPECT_EQ(options.durability, Durability::kSync);
  EXPECT_EQ(options.memory_budget, uint64_t{64} << 20);
  EXPECT_EQ(options.row_cache_size, Options::kAdaptive);
  EXPECT_EQ(options.bloom_split, 4);
}

TEST(OptionText, RefusesWhatItCannotRead) {
  Options options;
  const auto error = [&](std::string_view name, std::string_view text) {
    const kvdyno::Status set = SetOption(name, text, &options);
    EXPECT_EQ(set.code(), kvdyno::Code::kInvalidArgument);
    return set.message();
  };
  EXPECT_EQ(error("memory_budge", "1"),
            "option memory_budge: expected a member of chunkstore::Options");
  EXPECT_EQ(error("durability", "maybe"),
            "option durability: expected none or async or sync, got 'maybe'");
  EXPECT_EQ(error("bloom_split", "4x"), "option bloom_split: expected a number, got '4x'");
  EXPECT_EQ(error("direct_io", "yes"), "option direct_io: expected false or true, got 'yes'");
  EXPECT_NE(error("block_size", "auto").find("a number of bytes"), std::string::npos);
  EXPECT_NE(error("stage_size", "adaptive").find("a number of bytes"), std::string::npos);
  EXPECT_EQ(Text(options, "bloom_split"), "16");
}

}  // namespace
}  // namespace chunkstore
