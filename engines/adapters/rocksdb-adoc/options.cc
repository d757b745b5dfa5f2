#include "options.h"

#include <algorithm>
#include <array>
#include <limits>
#include <thread>
#include <vector>

#include "kvdyno/base/units.h"

namespace kvdyno::adoc {

namespace {

constexpr uint64_t kKiB = uint64_t{1} << 10;
constexpr uint64_t kGiB = uint64_t{1} << 30;

struct ModeName {
  const char* name;
  tuners::AdocMode mode;
};
constexpr std::array<ModeName, 5> kModes = {{{"paper", tuners::AdocMode::kPaper},
                                             {"fork", tuners::AdocMode::kFork},
                                             {"threads-only", tuners::AdocMode::kThreadsOnly},
                                             {"batch-only", tuners::AdocMode::kBatchOnly},
                                             {"plus", tuners::AdocMode::kPlus}}};

std::vector<std::string> ModeChoices() {
  std::vector<std::string> names;
  names.reserve(kModes.size());
  for (const ModeName& known : kModes) names.emplace_back(known.name);
  return names;
}

Status Impossible(const std::string& option, const std::string& expected, const std::string& got) {
  return Status::InvalidArgument("option " + option + ": expected " + expected + ", got " + got);
}

int64_t ThreadsMax(int64_t wanted, int64_t threads_min) {
  if (wanted > 0) return wanted;
  return std::max<int64_t>(std::thread::hardware_concurrency(), threads_min);
}

Status CheckThreads(const rocksdb::Options& store, const tuners::AdocLimits& limits) {
  const std::string min = std::to_string(limits.threads_min);
  const std::string max = std::to_string(limits.threads_max);
  if (limits.threads_max < limits.threads_min) {
    return Impossible("threads_max", "at least threads_min, " + min, max);
  }
  if (store.max_background_compactions != -1 || store.max_background_flushes != -1) {
    return Impossible("optionsfile", "max_background_jobs alone to say how many threads there are",
                      "max_background_compactions or max_background_flushes too");
  }
  if (store.max_background_jobs < limits.threads_min ||
      store.max_background_jobs > limits.threads_max) {
    return Impossible("max_background_jobs", "threads_min to threads_max, " + min + " to " + max,
                      std::to_string(store.max_background_jobs));
  }
  return Status::Ok();
}

Status CheckBatch(const rocksdb::Options& store, uint64_t cap, const tuners::AdocLimits& limits) {
  const std::string min = FormatBytes(limits.batch_min);
  const std::string max = FormatBytes(limits.batch_max);
  if (limits.batch_max < limits.batch_min) {
    return Impossible("batch_max", "at least batch_min, " + min, max);
  }
  if (store.write_buffer_size < limits.batch_min || store.write_buffer_size > limits.batch_max) {
    return Impossible("write_buffer_size", "batch_min to batch_max, " + min + " to " + max,
                      FormatBytes(store.write_buffer_size));
  }
  const auto memtables = static_cast<uint64_t>(store.max_write_buffer_number);
  if (cap > 0 && limits.batch_max > cap / memtables) {
    return Impossible("batch_max",
                      "at most " + FormatBytes(cap / memtables) + ", so that " +
                          std::to_string(memtables) + " memtables fit the memory cap of " +
                          FormatBytes(cap),
                      max);
  }
  return Status::Ok();
}

}  // namespace

void Options::Describe(OptionTable* table) {
  table->Bool("tuning", &tuning,
              {.effect = "Tune at all; false leaves the store as it opens.", .shapes_data = true});
  table->Choice("mode", &mode, ModeChoices(),
                {.effect = "The published rules, those of the authors' public code, one knob of "
                           "the two, or rules that act before a limit is reached.",
                 .shapes_data = true});
  table->Seconds(
      "window", &window,
      {.effect = "Time between two decisions. Shorter ones follow faster and swing more.",
       .min = 0.001,
       .max = 3600});
  table->Integer("threads_min", &threads_min,
                 {.effect = "Background jobs that are always left.", .min = 2, .max = 256});
  table->Integer("threads_max", &threads_max,
                 {.effect = "Background jobs that are never exceeded; 0: as many as there are "
                            "cores.",
                  .min = 0,
                  .max = 256});
  table->Bytes("batch_min", &batch_min,
               {.effect = "Smallest memtable, and table at level 1.",
                .min = 64 * kKiB,
                .max = 64 * kGiB,
                .shapes_data = true,
                .scales = true});
  table->Bytes("batch_max", &batch_max,
               {.effect = "Largest memtable; max_write_buffer_number of them must fit the cap.",
                .min = 64 * kKiB,
                .max = 64 * kGiB,
                .shapes_data = true,
                .scales = true});
  table->Bytes("batch_step", &batch_step,
               {.effect = "What a batch grows by; it shrinks by halves.",
                .min = 4 * kKiB,
                .max = 64 * kGiB,
                .shapes_data = true,
                .scales = true});
}

tuners::AdocMode Options::Mode() const {
  const auto* known =
      std::find_if(kModes.begin(), kModes.end(), [&](const ModeName& m) { return mode == m.name; });
  return known->mode;
}

Status Options::Resolve(const rocksdb::Options& store, uint64_t memory_cap_bytes,
                        tuners::AdocLimits* limits) const {
  constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();
  const int slowdown = store.level0_slowdown_writes_trigger;
  *limits = {.level0_slowdown_files = slowdown > 0 ? static_cast<uint64_t>(slowdown) : kNever,
             .soft_pending_bytes = store.soft_pending_compaction_bytes_limit,
             .threads_min = threads_min,
             .threads_max = ThreadsMax(threads_max, threads_min),
             .batch_min = batch_min,
             .batch_max = batch_max,
             .batch_step = batch_step};
  if (Status checked = CheckThreads(store, *limits); !checked.ok()) return checked;
  return CheckBatch(store, memory_cap_bytes, *limits);
}

}  // namespace kvdyno::adoc
