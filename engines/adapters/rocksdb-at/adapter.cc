// RocksDB with its own auto-tuned rate limiter: the limiter retunes itself, here it is made and
// watched.
#include <atomic>

#include "kvdyno/base/clock.h"
#include "kvdyno/rocksdb/family.h"
#include "options.h"

namespace kvdyno {

namespace {

class AtAdapter final : public rocks::RocksFamily {
 public:
  AtAdapter() { own_.Describe(&options()); }

  std::string engine_name() const override { return "rocksdb-at"; }
  std::string summary() const override {
    return "RocksDB with its auto-tuned rate limiter for flushes and compactions (RocksDB-AT in "
           "the "
           "evaluation of ADOC, FAST 2023; "
           "https://rocksdb.org/blog/2017/12/18/17-auto-tuned-rate-limiter.html).";
  }

  // The limiter does not announce that it retuned itself, which it does about every ten seconds:
  // samples show the new rate.
  void Sample(std::vector<Counter>* counters) override {
    RocksFamily::Sample(counters);
    const int64_t rate = limiter_->GetBytesPerSecond();
    const int64_t before = seen_rate_.exchange(rate);
    if (rate != before) {
      events().Add({.kind = "tuning",
                    .begin_ns = NowNs(),
                    .state = "rate_limit",
                    .cause = rate < before ? "less_demand" : "more_demand",
                    .detail = "from=" + std::to_string(before) + " to=" + std::to_string(rate)});
    }
    counters->push_back({"tuner_rate_limit", static_cast<double>(rate), "byte/s", false});
  }

 protected:
  Status Prepare(const OpenContext& /*context*/, rocksdb::Options* options) override {
    limiter_ = own_.MakeLimiter();
    seen_rate_ = limiter_->GetBytesPerSecond();
    options->rate_limiter = limiter_;
    return Status::Ok();
  }

 private:
  at::Options own_;
  std::shared_ptr<rocksdb::RateLimiter> limiter_;
  std::atomic<int64_t> seen_rate_ = 0;
};

}  // namespace

std::unique_ptr<Adapter> MakeAdapter() { return std::make_unique<AtAdapter>(); }

}  // namespace kvdyno
