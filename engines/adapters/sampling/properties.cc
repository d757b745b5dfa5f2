// What every property means: the text of --help and --describe.
#include "properties.h"

#include <utility>

#include "data.h"

namespace kvdyno::sampler {

SamplerProperties::SamplerProperties(std::string engine_name, OptionTable* engine_options)
    : Properties(std::move(engine_name), engine_options) {
  Settings& s = settings_;
  table_.Integer("records", &s.records,
                 {.effect = "Records that are inserted, those deleted later included.",
                  .min = 1,
                  .max = 2e9,
                  .scales = true});
  table_.Choice("weights", &s.weights, {"unit", "pareto-2.5", "pareto-1.2", "giant"},
                {.effect = "Every weight 1; Pareto with that exponent; or 1, and one record that "
                           "weighs as much as all others."});
  table_.Text(
      "records.file", &s.records_file,
      {.effect = "A CSV file with columns key, value and weight, whose first `records` rows "
                 "are inserted instead of drawn ones; empty: none. `kvdyno records` makes "
                 "one of a Parquet file."});
  table_.Integer("seed", &s.seed,
                 {.effect = "Same seed: same records, deletes and queries in the same order."});
  table_.Real("load.share", &s.load_share,
              {.effect = "The part of the records that phase load inserts, before anything is "
                         "deleted: what publications call warm-up.",
               .min = 0.000001,
               .max = 1});
  table_.Real(
      "delete.share", &s.delete_share,
      {.effect = "The part of the updates behind the load that delete a random live record.",
       .max = 0.49});
  table_.Integer("update.samplers", &s.update_samplers,
                 {.effect = "Threads that sample while phase update goes on, besides the writer. "
                            "The index only.",
                  .max = 4095});
  table_.Integer("queries", &s.queries,
                 {.effect = "Queries of phase sample, of all threads.", .min = 1, .max = 1e12});
  table_.Integer("k", &s.k, {.effect = "Samples of a query.", .min = 1, .max = 1e9});
  table_.Real("range.share", &s.range_share,
              {.effect = "The part of the records, in order of keys, that a query chooses among; "
                         "each query takes another stretch. 1: all.",
               .min = 0.001,
               .max = 1});
  DescribeLoop();
  DescribeCommon(&s);
}

void SamplerProperties::DescribeLoop() {
  Settings& s = settings_;
  table_.Real(
      "update.target", &s.update_target,
      {.effect = "Inserts and deletes a second that phase update starts (open loop): latency "
                 "then counts from the intended start. 0: each begins when the last has "
                 "ended (closed loop)."});
  table_.Real(
      "target", &s.target,
      {.effect = "Queries a second that all sampling threads together start (open loop), in "
                 "phase sample and beside the writer. 0: closed loop."});
  table_.Choice("arrivals", &s.arrivals, {"constant", "poisson"},
                {.effect = "Open loop: evenly spaced or random intended starts."});
  table_.Seconds(
      "probe.interval", &s.probe_interval,
      {.effect = "An extra thread draws one sample once per interval while clients work, "
                 "and reports draws that took longer than probe.threshold; 0: none. "
                 "The index only.",
       .max = 3600});
  table_.Seconds("probe.threshold", &s.probe_threshold,
                 {.effect = "See probe.interval.", .min = 1e-6, .max = 3600});
}

ArrivalSpec Settings::Arriving(double operations_per_second, int64_t threads) const {
  return {.poisson = arrivals == "poisson",
          .operations_per_second = operations_per_second,
          .thread_count = static_cast<uint64_t>(threads)};
}

Status Settings::Check(const std::string& engine_name, uint64_t record_bytes) const {
  if (Status s = CheckCommon(engine_name); !s.ok()) return s;
  const uint64_t needed = LeastBytes(*this, record_bytes);
  if (memory_cap > 0 && needed > memory_cap) {
    return Status::InvalidArgument("records: expected so many that they fit into memory.cap (" +
                                   std::to_string(memory_cap) + " bytes), got " +
                                   std::to_string(records) + ", which take " +
                                   std::to_string(needed) + " or more");
  }
  return Status::Ok();
}

}  // namespace kvdyno::sampler
