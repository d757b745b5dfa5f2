// SamplingEngine: a sampler of the library as what drivers measure.
// Owns the sampler and its options; knows neither phases nor data.
//
// Threads: Insert and Delete belong to one writer. Samplers may work meanwhile if the sampler is the index; the
// baselines take one thread in all, whose statistics Note copies while nothing works.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "kvdyno/api/engine.h"
#include "options.h"
#include "sampling/index.h"

namespace kvdyno::sampler {

class SamplingEngine final : public Engine {
 public:
  SamplingEngine() { settings_.Describe(&table_); }

  std::string engine_name() const override { return "sampling"; }
  std::string engine_version() const override;
  std::string summary() const override;
  std::optional<Durability> durability(bool /*sync*/) const override;
  OptionTable& options() override { return table_; }

  // Bytes of memory that a live record takes at least.
  uint64_t record_bytes() const { return settings_.external() ? 0 : sizeof(sampling::Record); }

  // InvalidArgument when a baseline is asked to serve several threads: those of phase sample,
  // samplers beside the writer, a probe.
  Status CheckThreads(int64_t threads, int64_t update_samplers, bool probes) const;

  Status Open(const OpenContext& context) override;
  bool can_settle() const override { return settings_.sampler == "index"; }
  Status Settle(std::optional<uint64_t> debt_max) override;
  void Sample(std::vector<Counter>* counters) override;
  Status Close() override;

  // After Open. The record of a delete is live.
  Status Insert(const sampling::Record& record) { return sampler_->Insert(record); }
  Status Delete(const sampling::Record& record);
  Status Draw(const sampling::Query& query, size_t k, Random* random,
              std::vector<sampling::Record>* samples) {
    return sampler_->Sample(query, k, random, samples);
  }
  // Between phases: what Sample reports of a baseline until the next call.
  void Note();

 private:
  Options settings_;
  OptionTable table_;
  std::unique_ptr<sampling::Sampler> sampler_;
  sampling::Index* index_ = nullptr;  // null: a baseline
  std::mutex mutex_;
  sampling::Statistics noted_;  // guarded by mutex_
};

}  // namespace kvdyno::sampler
