#include "options.h"

namespace kvdyno::at {

namespace {

// RocksDB's defaults for a limiter.
constexpr int64_t kRefillPeriodUs = 100'000;
constexpr int32_t kFairness = 10;

}  // namespace

void Options::Describe(OptionTable* table) {
  table->Bytes("bandwidth_max", &bandwidth_max,
               {.effect = "Bytes a second that background work may reach: the limiter keeps "
                          "between a twentieth of it and all of it, by how much is asked for. "
                          "Belongs to the device, and so does not scale.",
                .min = 1 << 20,
                .max = 1e12});
  table->Choice("limits", &limits, {"writes", "reads", "all"},
                {.effect = "What the limiter counts: what background work writes, what it "
                           "reads, or both."});
}

std::shared_ptr<rocksdb::RateLimiter> Options::MakeLimiter() const {
  using Mode = rocksdb::RateLimiter::Mode;
  const Mode mode = limits == "writes"  ? Mode::kWritesOnly
                    : limits == "reads" ? Mode::kReadsOnly
                                        : Mode::kAllIo;
  return std::shared_ptr<rocksdb::RateLimiter>(rocksdb::NewGenericRateLimiter(
      static_cast<int64_t>(bandwidth_max), kRefillPeriodUs, kFairness, mode, /*auto_tuned=*/true));
}

}  // namespace kvdyno::at
