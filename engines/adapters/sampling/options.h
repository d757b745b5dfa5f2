// Options of the sampling engine: which sampler, and those of the dynamic index. The library's own struct holds the
// defaults.
#pragma once

#include <string>

#include "kvdyno/api/options.h"
#include "sampling/options.h"

namespace kvdyno::sampler {

struct Options {
  std::string sampler = "index";
  std::string structure = "weighted-set";
  std::string layout = "tiering";
  std::string deletes = "tagging";
  int64_t scale_factor = static_cast<int64_t>(sampling::Options{}.scale_factor);
  int64_t buffer_records = static_cast<int64_t>(sampling::Options{}.buffer_records);
  double max_deleted = sampling::Options{}.max_deleted;
  double filter_false_positives = sampling::Options{}.filter_false_positives;
  bool background = sampling::Options{}.background;
  bool search_deletes = false;
  std::string storage = "memory";
  int64_t memory_levels = static_cast<int64_t>(sampling::Options{}.memory_levels);
  uint64_t memory_bytes = sampling::Options{}.memory_bytes;

  void Describe(OptionTable* table);
  // Whether the index keeps shards in files.
  bool external() const { return sampler == "index" && storage == "external"; }
  // As the library takes them. Numbers are within their ranges. Files of external mode lie in the directory.
  sampling::Options ForIndex(const std::string& directory) const;
};

}  // namespace kvdyno::sampler
