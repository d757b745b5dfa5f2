// Data: the updates of a run, drawn before anything is timed, and the ranges of its queries.
// Immutable once drawn; safe from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "properties.h"
#include "sampling/record.h"
#include "sampling/sampler.h"

namespace kvdyno::sampler {

// Bytes that the updates of a run and their live records take at least.
uint64_t LeastBytes(const Settings& settings);

class Data {
 public:
  // Keys are latitudes from a mixture of twelve normal distributions, as (latitude + 180) * 10^7; values number the
  // records. A delete takes a random live record.
  static Data Draw(const Settings& settings);

  // A delete has a negative weight.
  static bool Deletes(const sampling::Record& update) { return update.weight < 0; }

  std::span<const sampling::Record> load() const { return std::span(updates_).first(loaded_); }
  std::span<const sampling::Record> updates() const { return std::span(updates_).subspan(loaded_); }

  sampling::Query NextQuery(Random* random) const;

 private:
  void DrawUpdates(const Settings& settings, Random* random);
  void DrawRanges(const Settings& settings, Random* random);

  std::vector<sampling::Record> updates_;
  size_t loaded_ = 0;
  std::vector<uint64_t> quantiles_;  // of the keys; empty: queries ask for all
  size_t range_quantiles_ = 0;       // that a query spans
};

}  // namespace kvdyno::sampler
