// What an operation costs the store in CPU time, beside this project's targets.
// Owns the cases and the table. One client thread; nothing else should run. Medians of rounds, each
// of which begins with a fresh store where the case writes.
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chunkstore/store.h"
#include "kvdyno/base/units.h"

namespace {

using chunkstore::Options;
using chunkstore::Status;
using chunkstore::Store;

constexpr size_t kValueBytes = 800;
constexpr size_t kKeyBytes = 14;
constexpr size_t kRecordBytes = kKeyBytes + kValueBytes;

struct Settings {
  std::string place = "/tmp";
  uint64_t budget = uint64_t{64} << 20;
  int rounds = 5;
  std::string only;  // a part of the names of the cases to run; empty: all
};

[[noreturn]] void Fail(const std::string& message) {
  std::fprintf(stderr, "chunkstore_bench: %s\n", message.c_str());
  std::exit(2);
}

void Expect(const Status& status) {
  if (!status.ok()) Fail(status.ToString());
}

// --- records: 14-byte keys in order of their number, values that do not compress

std::string_view Key(uint64_t number, char* buffer) {
  std::memcpy(buffer, "user0000000000", kKeyBytes);
  for (size_t at = kKeyBytes; number != 0; number /= 10) {
    buffer[--at] = static_cast<char>('0' + number % 10);
  }
  return {buffer, kKeyBytes};
}

// splitmix64 (Steele, Lea & Flood 2014).
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

std::string RandomValue() {
  std::string value(kValueBytes, '\0');
  for (size_t i = 0; i < value.size(); i += 8) {
    const uint64_t word = Mix(i);
    std::memcpy(value.data() + i, &word, 8);
  }
  return value;
}

// --- CPU time

double SecondsOf(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// One measured stretch: of this thread, and of the process, which includes background work.
struct Cost {
  double thread_us = 0, process_us = 0;
};

Cost Measure(uint64_t operations, const std::function<void()>& work) {
  const double thread = SecondsOf(CLOCK_THREAD_CPUTIME_ID);
  const double process = SecondsOf(CLOCK_PROCESS_CPUTIME_ID);
  work();
  const auto per_operation = [&](double seconds) {
    return seconds * 1e6 / static_cast<double>(operations);
  };
  return {per_operation(SecondsOf(CLOCK_THREAD_CPUTIME_ID) - thread),
          per_operation(SecondsOf(CLOCK_PROCESS_CPUTIME_ID) - process)};
}

// --- a store in a directory of its own

class Place {
 public:
  explicit Place(const std::string& parent) : path_(parent + "/chunkstore-bench-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) Fail("make " + path_ + ": expected a writable folder");
  }
  ~Place() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class Bench {
 public:
  Bench(const Settings& settings, const Options& options)
      : place_(settings.place), value_(RandomValue()) {
    Expect(Store::Open(options, place_.path(), &store_));
  }

  // Every record once, in order of the keys or scattered; all background work included.
  void Load(uint64_t records, bool scattered) {
    char key[kKeyBytes];
    // An odd multiplier visits every number below a power of two once; larger ones are skipped.
    uint64_t span = 1;
    while (span < records) span *= 2;
    for (uint64_t i = 0; i < span; i++) {
      const uint64_t number = scattered ? (i * 0x9e3779b97f4a7c15 ^ 0x5555) & (span - 1) : i;
      if (number < records) Expect(store_->Put(Key(number, key), value_));
    }
    Expect(store_->Flush());
  }

  void Put(uint64_t operations, uint64_t records) {
    char key[kKeyBytes];
    for (uint64_t i = 0; i < operations; i++) {
      Expect(store_->Put(Key(Mix(seed_++) % records, key), value_));
    }
  }

  void Get(uint64_t operations, uint64_t records) {
    char key[kKeyBytes];
    for (uint64_t i = 0; i < operations; i++) {
      Expect(store_->Get(Key(Mix(seed_++) % records, key), &found_));
    }
  }

  void Flush() { Expect(store_->Flush()); }

  double Statistic(std::string_view name) const {
    for (const chunkstore::Statistic& each : store_->GetStatistics()) {
      if (each.name == name) return each.value;
    }
    Fail("statistic " + std::string(name) + ": expected the store to have it");
  }

 private:
  Place place_;
  const std::string value_;
  std::string found_;
  uint64_t seed_ = 1;
  std::unique_ptr<Store> store_;
};

// --- cases

struct Outcome {
  Cost cost;
  uint64_t operations = 0;
  double served = 1;  // the share of operations that took the way that the case is about
};

struct Case {
  const char* name;
  double target_us;  // of CPU time per operation, of the whole process
  std::function<Outcome(const Settings&)> run;
};

Options BaseOptions(const Settings& settings) {
  Options options;
  options.memory_budget = settings.budget;
  return options;
}

uint64_t RecordsFor(double bytes) { return static_cast<uint64_t>(bytes / kRecordBytes); }

Outcome RunLoad(const Settings& settings, bool scattered) {
  const uint64_t records = RecordsFor(4.0 * static_cast<double>(settings.budget));
  Bench bench(settings, BaseOptions(settings));
  return {Measure(records, [&] { bench.Load(records, scattered); }), records};
}

// Data of an eighth of the budget, so that one cache holds all of it, whichever is left in.
Outcome RunGetFromRam(const Settings& settings, uint64_t Options::* cache, const char* serves) {
  Options options = BaseOptions(settings);
  for (uint64_t Options::* each :
       {&Options::munk_cache_size, &Options::row_cache_size, &Options::block_cache_size}) {
    options.*each = each == cache ? settings.budget / 2 : 0;
  }
  const uint64_t records = RecordsFor(static_cast<double>(settings.budget) / 8);
  Bench bench(settings, options);
  bench.Load(records, false);
  bench.Get(20 * records, records);
  bench.Flush();
  const uint64_t operations = 500'000;
  const double before = bench.Statistic(serves);
  const Cost cost = Measure(operations, [&] { bench.Get(operations, records); });
  return {cost, operations, (bench.Statistic(serves) - before) / operations};
}

// Random puts; the flush at the end belongs to them.
Outcome RunPut(const Settings& settings, double data_bytes) {
  const uint64_t records = RecordsFor(data_bytes);
  Bench bench(settings, BaseOptions(settings));
  bench.Load(records, false);
  bench.Get(records, records);
  const uint64_t operations = 500'000;
  return {Measure(operations,
                  [&] {
                    bench.Put(operations, records);
                    bench.Flush();
                  }),
          operations};
}

// Nearly no caches: almost each get reads a block from the disk.
Outcome RunMiss(const Settings& settings) {
  Options options = BaseOptions(settings);
  options.munk_cache_size = 0;
  options.row_cache_size = 0;
  options.block_cache_size = settings.budget / 64;
  const uint64_t records = RecordsFor(4.0 * static_cast<double>(settings.budget));
  Bench bench(settings, options);
  bench.Load(records, false);
  bench.Get(2000, records);
  const uint64_t operations = 50'000;
  const double before = bench.Statistic("read_calls");
  const Cost cost = Measure(operations, [&] { bench.Get(operations, records); });
  return {cost, operations, (bench.Statistic("read_calls") - before) / operations};
}

std::vector<Case> Cases() {
  const auto ram = [](uint64_t Options::* cache, const char* serves) {
    return [=](const Settings& settings) { return RunGetFromRam(settings, cache, serves); };
  };
  const auto puts = [](double budgets) {
    return [=](const Settings& settings) {
      return RunPut(settings, budgets * static_cast<double>(settings.budget));
    };
  };
  return {
      {"load, keys in order", 2, [](const Settings& s) { return RunLoad(s, false); }},
      {"load, keys scattered", 2, [](const Settings& s) { return RunLoad(s, true); }},
      {"get from a munk", 1, ram(&Options::munk_cache_size, "munk_gets")},
      {"get from the row cache", 1, ram(&Options::row_cache_size, "row_cache_hits")},
      {"get from the block cache", 1, ram(&Options::block_cache_size, "block_cache_hits")},
      {"put, data in RAM", 2, puts(0.25)},
      {"put, data 4x the budget", 6, puts(4)},
      {"get that misses", 9, RunMiss},
  };
}

// --- the table

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

// True when the median meets the target.
bool Report(const Case& measured, const std::vector<Outcome>& outcomes) {
  std::vector<double> process, thread, served;
  for (const Outcome& outcome : outcomes) {
    process.push_back(outcome.cost.process_us);
    thread.push_back(outcome.cost.thread_us);
    served.push_back(outcome.served);
  }
  const double median = Median(process);
  const auto [low, high] = std::minmax_element(process.begin(), process.end());
  const bool met = median <= measured.target_us;
  std::printf("%-26s %7.2f  [%5.2f .. %5.2f] %8.2f %7.0f %9" PRIu64 " %3zu %6.0f %%  %s\n",
              measured.name, median, *low, *high, Median(thread), measured.target_us,
              outcomes.front().operations, outcomes.size(), 100 * Median(served),
              met ? "met" : "MISSED");
  std::fflush(stdout);
  return met;
}

bool RunAll(const Settings& settings) {
  std::printf("CPU time per operation in us, one client, %zu-byte values, budget %s, %d rounds\n\n",
              kValueBytes, kvdyno::FormatBytes(settings.budget).c_str(), settings.rounds);
  std::printf("%-26s %7s  %16s %8s %7s %9s %3s %8s\n", "operation", "process", "[least .. most]",
              "client", "target", "ops", "n", "so served");
  bool all = true;
  for (const Case& each : Cases()) {
    if (std::string_view(each.name).find(settings.only) == std::string_view::npos) continue;
    std::vector<Outcome> outcomes(static_cast<size_t>(settings.rounds));
    for (Outcome& outcome : outcomes) outcome = each.run(settings);
    all = Report(each, outcomes) && all;
  }
  return all;
}

constexpr const char* kHelp =
    "chunkstore_bench [--place FOLDER] [--budget SIZE] [--rounds N] [--only PART]\n"
    "Measures CPU time per operation beside the targets. Process: all threads, background work and "
    "final\n"
    "flush included; client: the calling thread alone. Exit status: 0 all targets met, 1 not, 2 "
    "failed.\n"
    "  --place FOLDER  where the stores go (/tmp)\n"
    "  --budget SIZE   the stores' memory budget; data is measured in it (64MiB)\n"
    "  --rounds N      rounds of each case, of which the median counts (5)\n"
    "  --only PART     only cases whose name contains it\n";

Settings Parse(const std::vector<std::string_view>& arguments) {
  Settings settings;
  for (size_t i = 0; i < arguments.size(); i++) {
    const std::string_view flag = arguments[i];
    if (flag == "--help") {
      std::fputs(kHelp, stdout);
      std::exit(0);
    }
    if (i + 1 == arguments.size()) Fail(std::string(flag) + ": expected a value; see --help");
    const std::string value(arguments[++i]);
    if (flag == "--place") {
      settings.place = value;
    } else if (flag == "--budget") {
      Expect(kvdyno::ParseBytes(value, &settings.budget));
    } else if (flag == "--rounds") {
      settings.rounds = std::max(1, static_cast<int>(std::strtol(value.c_str(), nullptr, 10)));
    } else if (flag == "--only") {
      settings.only = value;
    } else {
      Fail(std::string(flag) + ": expected a known flag; see --help");
    }
  }
  return settings;
}

}  // namespace

int main(int argc, char** argv) { return RunAll(Parse({argv + 1, argv + argc})) ? 0 : 1; }
