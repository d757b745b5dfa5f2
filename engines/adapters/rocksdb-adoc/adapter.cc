// RocksDB with ADOC: options in options.h, what callbacks report in signals.h, the thread that
// turns the knobs in tuner.h; the rules are kvdyno/tuners/adoc.h's.
#include "kvdyno/rocksdb/family.h"
#include "options.h"
#include "signals.h"
#include "tuner.h"

namespace kvdyno {

namespace {

class AdocAdapter final : public rocks::RocksFamily {
 public:
  AdocAdapter() { own_.Describe(&options()); }

  std::string engine_name() const override { return "rocksdb-adoc"; }
  std::string summary() const override {
    return "RocksDB whose background threads and batch size ADOC tunes while it runs (Yu et al., "
           "FAST 2023, section 'Automatic Data Overflow Control'; mode fork: the authors' public "
           "code), through the public interface of a stock library.";
  }

  void Sample(std::vector<Counter>* counters) override {
    RocksFamily::Sample(counters);
    if (tuner_) tuner_->Sample(counters);
  }

 protected:
  Status Prepare(const OpenContext& context, rocksdb::Options* options) override {
    if (!own_.tuning) return Status::Ok();
    tuners::AdocLimits limits;
    if (Status status = own_.Resolve(*options, context.memory_cap_bytes, &limits); !status.ok()) {
      return status;
    }
    const auto merge = static_cast<uint64_t>(options->min_write_buffer_number_to_merge);
    const auto trigger = static_cast<uint64_t>(options->level0_file_num_compaction_trigger);
    settings_ = {
        .mode = own_.Mode(),
        .limits = limits,
        .start = {.threads = options->max_background_jobs, .batch = options->write_buffer_size},
        .batches_in_level1 = trigger * merge,
        .window_seconds = own_.window};
    signals_ = std::make_shared<adoc::Signals>(merge, limits.level0_slowdown_files);
    options->listeners.push_back(signals_);
    return Status::Ok();
  }

  void Opened() override {
    if (own_.tuning) {
      tuner_ = std::make_unique<adoc::Tuner>(settings_, signals_, db(), &events());
    }
  }

  void Closing() override { tuner_.reset(); }

 private:
  adoc::Options own_;
  adoc::Tuner::Settings settings_;
  std::shared_ptr<adoc::Signals> signals_;
  std::unique_ptr<adoc::Tuner> tuner_;
};

}  // namespace

std::unique_ptr<Adapter> MakeAdapter() { return std::make_unique<AdocAdapter>(); }

}  // namespace kvdyno
