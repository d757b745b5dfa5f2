// Properties: the one table of a run's settings, under YCSB-cpp's names where it has one.
// Owns the settings and their descriptions; borrows the engine's options, which are properties
// with the engine's prefix ("rocksdb.write_buffer_size").
// Filled by one thread before any other starts; read-only afterwards.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "kvdyno/api/options.h"
#include "kvdyno/base/status.h"
#include "settings/settings.h"

namespace kvdyno {

class Properties {
 public:
  // The options must outlive this object.
  Properties(std::string engine_name, OptionTable* engine_options);
  Properties(const Properties&) = delete;
  Properties& operator=(const Properties&) = delete;

  // InvalidArgument names the property, what was expected and what was found; for an unknown name
  // the nearest known one, the engine's included.
  Status Set(std::string_view name, std::string_view text);

  // Sets all of a property file: "name=value" lines; empty lines and those that begin with # or !
  // are skipped. Errors name file and line.
  Status SetFile(const std::string& path);

  const Settings& settings() const { return settings_; }
  const OptionTable& table() const { return table_; }
  const std::string& engine_name() const { return engine_name_; }

  // Every property in force, the engine's included.
  std::map<std::string, std::string> Values() const;

 private:
  void DescribeData();
  void DescribeMix();
  void DescribeKeyChoice();
  void DescribePhases();
  void DescribeClients();
  void DescribePlaces();
  void DescribeReporting();
  void DescribeConstants();

  // YCSB-cpp's spellings, each with the property that it stands for.
  std::map<std::string, std::string> OtherSpellings() const;
  Status Unknown(std::string_view name) const;

  const std::string engine_name_;
  OptionTable* const engine_options_;
  Settings settings_;
  OptionTable table_;
};

}  // namespace kvdyno
