// Settings: every property of a run with a YCSB workload, with its default.
// Owns plain values; knows neither how they are spelled nor what is done with them. Properties
// (properties.h) describe and fill it; the names here are the properties' names.
// Immutable once filled.
#pragma once

#include <cstdint>
#include <string>

#include "settings/common_settings.h"

namespace kvdyno {

enum class ScanLengthDistribution : uint8_t { kUniform, kZipfian, kConstant };

struct Settings : CommonSettings {
  // What the store holds.
  int64_t record_count = 1000;
  int64_t insert_start = 0;
  std::string insert_order = "ordered";
  std::string key_prefix = "user";
  int64_t zero_padding = 10;
  int64_t field_count = 10;
  uint64_t field_length = 80;
  double compressibility = 0;
  int64_t seed = 1;
  double age = 0;

  // The mix.
  double read_proportion = 0.95;
  double update_proportion = 0.05;
  double insert_proportion = 0;
  double scan_proportion = 0;
  double read_modify_write_proportion = 0;
  double delete_proportion = 0;
  double multi_read_proportion = 0;
  double reverse_scan_proportion = 0;
  double read_absent_fraction = 0;
  std::string update_mode = "blind";
  int64_t mix_seed = 0;

  // Which keys, how many of them.
  std::string request_distribution = "uniform";
  double zipfian_const = 0.99;
  bool scattered = true;
  double hotspot_data_fraction = 0.2;
  double hotspot_operation_fraction = 0.8;
  double exponential_percentile = 95;
  double exponential_fraction = 0.8571428571;
  int64_t min_scan_length = 1;
  int64_t max_scan_length = 1000;
  std::string scan_length_distribution = "uniform";
  int64_t multi_read_size = 10;

  // Phases.
  bool do_load = false;
  bool do_transaction = false;
  double load_seconds = 0;
  double load_target = 0;
  bool settle = true;
  double sleep_after_load = 0;
  int64_t warmup_operations = 0;
  double warmup_seconds = 0;
  int64_t operation_count = 0;
  bool rest = true;
  double measure_seconds = 0;
  uint64_t measure_bytes = 0;
  bool drain = true;

  // Kill and reopen.
  double kill_seconds = 0;
  int64_t kill_operations = 0;
  std::string reopen_from;

  // How the clients work.
  double target = 0;
  std::string limit_file;
  std::string arrivals = "constant";
  bool log = true;
  bool verify = false;
  int64_t writer_threads = 0;
  uint64_t background_write_rate = 0;
  double probe_interval = 0;
  double probe_threshold = 0.01;

  std::string data_format = "single";

  // YCSB properties that have one true value here.
  std::string workload = "core";
  std::string table = "usertable";
  std::string read_all_fields = "true";
  std::string write_all_fields = "true";
  std::string field_name_prefix = "field";
  std::string field_length_distribution = "constant";
  std::string measurement_type = "hdrhistogram";

  // Whether this run ages the data.
  bool ages() const { return do_load && age > 0; }

  // Whether this run kills itself, or opens what such a run left.
  bool kills() const { return kill_seconds > 0 || kill_operations > 0; }
  bool reopens() const { return !reopen_from.empty(); }

  uint64_t value_bytes() const { return static_cast<uint64_t>(field_count) * field_length; }

  // InvalidArgument for what no single property shows: combinations that mean nothing.
  // `engine_name` is that of this binary.
  Status Check(const std::string& engine_name) const;

 private:
  Status CheckClients() const;
  Status CheckKill() const;
};

}  // namespace kvdyno
