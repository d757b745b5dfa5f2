// Settings of a run of kvdyno-sampling, and their table.
// Settings are plain values, immutable once filled. Properties are filled by one thread before any other starts.
#pragma once

#include <cstdint>
#include <string>

#include "kvdyno/generate/arrivals.h"
#include "settings/common_settings.h"
#include "settings/properties.h"

namespace kvdyno::sampler {

struct Settings : CommonSettings {
  // Data.
  int64_t records = 1'000'000;
  std::string weights = "pareto-1.2";
  std::string records_file;
  int64_t seed = 1;

  // Updates.
  double load_share = 0.1;
  double delete_share = 0.05;
  int64_t update_samplers = 0;
  double update_target = 0;

  // Queries.
  int64_t queries = 1000;
  int64_t k = 1000;
  double range_share = 1;
  double target = 0;

  // Open loops, and the probe beside the clients.
  std::string arrivals = "constant";
  double probe_interval = 0;
  double probe_threshold = 0.01;

  // How the updates, or the queries of so many threads, arrive at that rate.
  ArrivalSpec Arriving(double operations_per_second, int64_t threads) const;
  // Whether anything has intended starts.
  bool paced() const { return update_target > 0 || target > 0; }

  // InvalidArgument for what no single property shows. A live record takes `record_bytes` of memory or more.
  Status Check(const std::string& engine_name, uint64_t record_bytes) const;
};

class SamplerProperties final : public Properties {
 public:
  // The options must outlive this object.
  SamplerProperties(std::string engine_name, OptionTable* engine_options);

  const Settings& settings() const { return settings_; }

 private:
  void DescribeLoop();

  Settings settings_;
};

}  // namespace kvdyno::sampler
