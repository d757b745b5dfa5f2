// CoreProperties: the settings of a run with a YCSB workload, under YCSB-cpp's names where it has one.
// Owns the settings. See properties.h for who may do what.
#pragma once

#include <map>
#include <string>

#include "settings/properties.h"
#include "settings/settings.h"

namespace kvdyno {

class CoreProperties final : public Properties {
 public:
  // The options must outlive this object.
  CoreProperties(std::string engine_name, OptionTable* engine_options);

  const Settings& settings() const { return settings_; }

 private:
  void DescribeData();
  void DescribeMix();
  void DescribeKeyChoice();
  void DescribePhases();
  void DescribeClients();
  void DescribeConstants();

  // YCSB-cpp's.
  std::map<std::string, std::string> OtherSpellings() const override;

  Settings settings_;
};

}  // namespace kvdyno
