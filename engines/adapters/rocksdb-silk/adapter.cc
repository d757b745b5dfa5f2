// RocksDB with what SILK can be on a stock library: work.h knows who writes, what clients do
// by load_meter.h, limiter.h lets background writes wait, scheduler.h decides how long.
#include <rocksdb/concurrent_task_limiter.h>

#include <algorithm>

#include "kvdyno/rocksdb/family.h"
#include "limiter.h"
#include "load_meter.h"
#include "options.h"
#include "scheduler.h"
#include "work.h"

namespace kvdyno {

namespace {

class SilkAdapter final : public rocks::RocksFamily {
 public:
  SilkAdapter() { own_.Describe(&options()); }

  std::string engine_name() const override { return "rocksdb-silk"; }
  std::string summary() const override {
    return "RocksDB whose background writes get the bandwidth that clients leave, flushes and low "
           "levels first (Balmau et al., 'SILK', USENIX ATC 2019), as far as the public interface "
           "of a stock library goes: no compaction is aborted or moved between pools.";
  }

  std::unique_ptr<Session> NewSession() override {
    std::unique_ptr<Session> session = RocksFamily::NewSession();
    return scheduler_ ? meter_.Measure(std::move(session)) : std::move(session);
  }

  void Sample(std::vector<Counter>* counters) override {
    RocksFamily::Sample(counters);
    if (scheduler_) scheduler_->Sample(counters);
  }

 protected:
  Status Prepare(const OpenContext& /*context*/, rocksdb::Options* options) override {
    if (!own_.tuning) return Status::Ok();
    if (Status status = own_.Resolve(&settings_.share); !status.ok()) return status;
    settings_.window_seconds = own_.window;
    limiter_ = std::make_shared<silk::Limiter>(settings_.share, own_.gate_max);
    options->rate_limiter = limiter_;
    options->listeners.push_back(std::make_shared<silk::WorkListener>());
    ShareSlots(options);
    return Status::Ok();
  }

  void Opened() override {
    if (!own_.tuning) return;
    scheduler_ = std::make_unique<silk::Scheduler>(settings_, &meter_, limiter_.get(), slots_.get(),
                                                   &events());
  }

  void Closing() override {
    if (limiter_) limiter_->Release();
    scheduler_.reset();
  }

 private:
  // Held compactions keep their threads. RocksDB gets twice as many as were asked for, in the
  // proportion to flushes that it would choose itself, and a limit on how many work.
  void ShareSlots(rocksdb::Options* options) {
    const int flushes = std::max(1, options->max_background_jobs / 4);
    settings_.slots = std::max(1, options->max_background_jobs - flushes);
    options->max_background_flushes = flushes;
    options->max_background_compactions = 2 * settings_.slots;
    slots_.reset(rocksdb::NewConcurrentTaskLimiter("silk", settings_.slots));
    options->compaction_thread_limiter = slots_;
  }

  silk::Options own_;
  silk::Scheduler::Settings settings_;
  silk::LoadMeter meter_;
  std::shared_ptr<silk::Limiter> limiter_;
  std::shared_ptr<rocksdb::ConcurrentTaskLimiter> slots_;
  std::unique_ptr<silk::Scheduler> scheduler_;
};

}  // namespace

std::unique_ptr<Adapter> MakeAdapter() { return std::make_unique<SilkAdapter>(); }

}  // namespace kvdyno
