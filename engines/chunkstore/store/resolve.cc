#include "store/resolve.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "chunkstore/shared_budget.h"
#include "core/budget.h"
#include "kvdyno/base/file_system.h"
#include "kvdyno/base/units.h"

namespace chunkstore {

namespace {

using kvdyno::Status;

constexpr uint64_t kKiB = 1024, kMiB = kKiB * 1024, kGiB = kMiB * 1024;
constexpr uint64_t kNoLimit = UINT64_MAX;

uint64_t ReadLimit(const std::string& path) {
  std::ifstream file(path);
  uint64_t limit = kNoLimit;
  if (!(file >> limit)) return kNoLimit;  // also "max"
  return limit;
}

// The smallest limit on the way from a cgroup up to the root of its hierarchy.
uint64_t SmallestLimit(const std::string& root, std::string group, const std::string& file) {
  uint64_t least = kNoLimit;
  for (;;) {
    least = std::min(least, ReadLimit(root + group + "/" + file));
    if (group.empty() || group == "/") return least;
    group.erase(group.find_last_of('/'));
  }
}

uint64_t CgroupLimit() {
  std::ifstream groups("/proc/self/cgroup");
  uint64_t least = kNoLimit;
  for (std::string line; std::getline(groups, line);) {
    // hierarchy:controllers:path
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers(1, ',');
    controllers.append(line, first + 1, second - first - 1).push_back(',');
    const std::string path = line.substr(second + 1);
    if (controllers == ",,") {
      least = std::min(least, SmallestLimit("/sys/fs/cgroup", path, "memory.max"));
    } else if (controllers.find(",memory,") != std::string::npos) {
      least =
          std::min(least, SmallestLimit("/sys/fs/cgroup/memory", path, "memory.limit_in_bytes"));
    }
  }
  return least;
}

template <typename T>
Status CheckRange(const char* name, T value, T least, T most) {
  if (value >= least && value <= most) return Status::Ok();
  std::ostringstream text;
  text << "open chunkstore: option " << name << ": expected " << least << " to " << most << ", got "
       << value;
  return Status::InvalidArgument(text.str());
}

Status CheckGiven(const Options& given) {
  const auto size = [](const char* name, uint64_t value, uint64_t least, uint64_t most) {
    return value == Options::kAuto ? Status::Ok() : CheckRange(name, value, least, most);
  };
  const Status checks[] = {
      CheckRange("checkpoint_interval_s", given.checkpoint_interval_s, 0.01, 3600.0),
      size("memory_budget", given.memory_budget, Options::kLeastBudget, uint64_t{1} << 50),
      size("stage_size", given.stage_size, 64 * kKiB, kGiB),
      size("chunk_size", given.chunk_size, 4 * kKiB, kGiB),
      CheckRange<uint64_t>("block_size", given.block_size, 256, kMiB),
      CheckRange("table_filter_bits", given.table_filter_bits, 0.0, 32.0),
      CheckRange("bloom_split", given.bloom_split, 1, 16),
      CheckRange("bloom_bits", given.bloom_bits, 1.0, 32.0),
      size("log_limit", given.log_limit, 4 * kKiB, uint64_t{1} << 50),
      size("munk_log_limit", given.munk_log_limit, 4 * kKiB, uint64_t{1} << 50),
      CheckRange<uint64_t>("max_open_files", given.max_open_files, 16, uint64_t{1} << 20),
      CheckRange("background_threads", given.background_threads, 0, 64),
  };
  for (const Status& check : checks) {
    if (!check.ok()) return check;
  }
  return Status::Ok();
}

// Fixed caches and the ring must leave room for each other and for what no option names.
Status CheckBudget(const Options& resolved) {
  const uint64_t reserve = ProcessReserve(resolved.memory_budget);
  uint64_t sum = 3 * resolved.stage_size + reserve;
  for (const uint64_t size :
       {resolved.munk_cache_size, resolved.row_cache_size, resolved.block_cache_size}) {
    if (size != Options::kAdaptive) sum += std::min(size, resolved.memory_budget);
  }
  if (sum <= resolved.memory_budget) return Status::Ok();
  return Status::InvalidArgument(
      "open chunkstore: option memory_budget: expected at least " + kvdyno::FormatBytes(sum) +
      " (three stages, the caches of fixed size, and " + kvdyno::FormatBytes(reserve) +
      " for the process), got " + kvdyno::FormatBytes(resolved.memory_budget));
}

}  // namespace

uint64_t MemoryCap() {
  const auto pages = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES));
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return std::min(pages * page, CgroupLimit());
}

Status ResolveOptions(const Options& given, uint64_t cap, Options* resolved) {
  if (const Status status = CheckGiven(given); !status.ok()) return status;
  Options& options = *resolved;
  options = given;
  if (options.memory_budget == Options::kAuto) {
    const uint64_t all =
        given.shared_budget ? given.shared_budget->bytes() / 8 : Options::BudgetUnder(cap);
    options.memory_budget = std::max(all, Options::kLeastBudget);
  }
  const uint64_t budget = options.memory_budget;
  if (options.stage_size == Options::kAuto) {
    options.stage_size = std::clamp(budget / 30, 64 * kKiB, 128 * kMiB);
  }
  options.stage_size = options.stage_size / kvdyno::kDirectAlignment * kvdyno::kDirectAlignment;
  if (options.chunk_size == Options::kAuto) {
    options.chunk_size = std::min(budget / 120, 8 * kMiB);
  }
  if (options.log_limit == Options::kAuto) options.log_limit = options.chunk_size;
  if (options.munk_log_limit == Options::kAuto) options.munk_log_limit = 10 * options.chunk_size;
  if (options.file_system == nullptr) options.file_system = kvdyno::FileSystem::Posix();
  return CheckBudget(options);
}

}  // namespace chunkstore
