#include "options.h"

namespace kvdyno::silk {

void Options::Describe(OptionTable* table) {
  table->Bool("tuning", &tuning, {.effect = "Share bandwidth at all; false is RocksDB."});
  table->Bytes("bandwidth", &bandwidth,
               {.effect = "Bytes a second of the device, for clients and background writes "
                          "together. Belongs to the device, and so does not scale.",
                .min = 1 << 20,
                .max = 1e12});
  table->Bytes("compaction_bandwidth", &compaction_bandwidth,
               {.effect = "Bytes a second that background writes are left under any load, and that "
                          "compactions from level 0 get whatever flushes take. Smaller changes of "
                          "the rate are not made.",
                .min = 64 << 10,
                .max = 1e12});
  table->Seconds(
      "window", &window,
      {.effect = "Time between two looks at the clients' load.", .min = 0.001, .max = 60});
  table->Real("peak_share", &peak_share,
              {.effect = "Load, as a share of the bandwidth, from which compactions of level 2 "
                         "and deeper wait; above 1 they never do.",
               .min = 0.01,
               .max = 100});
  table->Seconds("gate_max", &gate_max,
                 {.effect = "Longest wait of one write of at most 1 MiB by a compaction: held work "
                            "goes on, if slowly.",
                  .min = 0.001,
                  .max = 3600});
}

Status Options::Resolve(tuners::SilkSettings* settings) const {
  if (compaction_bandwidth > bandwidth) {
    return Status::InvalidArgument("option compaction_bandwidth: expected at most bandwidth, " +
                                   std::to_string(bandwidth) + " bytes a second, got " +
                                   std::to_string(compaction_bandwidth));
  }
  const auto floor = static_cast<double>(compaction_bandwidth);
  *settings = {.bandwidth_bytes_per_s = static_cast<double>(bandwidth),
               .floor_bytes_per_s = floor,
               .step_bytes_per_s = floor,
               .peak_share = peak_share};
  return Status::Ok();
}

}  // namespace kvdyno::silk
