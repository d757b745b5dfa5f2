// Data: the updates of a run, drawn before anything is timed, and the ranges of its queries.
// Immutable once drawn; safe from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kvdyno/base/status.h"
#include "properties.h"
#include "records_file.h"
#include "sampling/record.h"
#include "sampling/sampler.h"

namespace kvdyno::sampler {

// Bytes of memory that the updates of a run take at least, and their live records at so many each.
uint64_t LeastBytes(const Settings& settings, uint64_t record_bytes);

class Data {
 public:
  // Keys are latitudes from a mixture of twelve normal distributions, as (latitude + 180) * 10^7; values number the
  // records. With a file, records are its rows in their order. A delete takes a random live record.
  // InvalidArgument names what is wrong with the file.
  static Status Draw(const Settings& settings, Data* data);

  // A delete has a negative weight.
  static bool Deletes(const sampling::Record& update) { return update.weight < 0; }

  std::span<const sampling::Record> load() const { return std::span(updates_).first(loaded_); }
  std::span<const sampling::Record> updates() const { return std::span(updates_).subspan(loaded_); }

  sampling::Query NextQuery(Random* random) const;

 private:
  // Appends record `number` of them all.
  Status AddRecord(const Settings& settings, uint64_t number, RecordsFile* file, Random* random);
  Status DrawUpdates(const Settings& settings, Random* random);
  // Keys and values identify records.
  Status CheckPairs(const std::string& path) const;
  void DrawRanges(const Settings& settings, Random* random);

  std::vector<sampling::Record> updates_;
  size_t loaded_ = 0;
  std::vector<uint64_t> quantiles_;  // of the keys; empty: queries ask for all
  size_t range_quantiles_ = 0;       // that a query spans
};

}  // namespace kvdyno::sampler
