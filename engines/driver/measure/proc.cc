// Sampling /proc/self and getrusage. Owns nothing; safe from any thread.
#include "measure/proc.h"

#include <sys/resource.h>

#include <string_view>

#include "measure/text_file.h"

namespace kvdyno {
namespace {

void SampleIo(const std::string& proc_self, std::vector<Counter>* counters) {
  const auto text = ReadTextFile(proc_self + "/io");
  if (!text) return;
  constexpr std::string_view kBytes[] = {"rchar", "wchar", "read_bytes", "write_bytes",
                                         "cancelled_write_bytes"};
  for (const std::string_view name : kBytes) {
    if (const auto value = NumberAfter(*text, name)) {
      counters->push_back({"io." + std::string(name), static_cast<double>(*value), "byte", true});
    }
  }
  for (const std::string_view name : {"syscr", "syscw"}) {
    if (const auto value = NumberAfter(*text, name)) {
      counters->push_back({"io." + std::string(name), static_cast<double>(*value), "call", true});
    }
  }
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

void SampleUsage(std::vector<Counter>* counters) {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return;
  const auto count = [&](const char* name, long value) {
    counters->push_back({name, static_cast<double>(value), "count", true});
  };
  counters->push_back({"cpu.user", Seconds(usage.ru_utime), "s", true});
  counters->push_back({"cpu.system", Seconds(usage.ru_stime), "s", true});
  count("faults.minor", usage.ru_minflt);
  count("faults.major", usage.ru_majflt);
  count("switches.voluntary", usage.ru_nvcsw);
  count("switches.involuntary", usage.ru_nivcsw);
}

void SampleMemory(const std::string& proc_self, std::vector<Counter>* counters) {
  const auto text = ReadTextFile(proc_self + "/status");
  if (!text) return;
  const auto level = [&](const char* name, std::string_view key) {
    if (const auto kib = NumberAfter(*text, key)) {
      counters->push_back({name, static_cast<double>(*kib) * 1024, "byte", false});
    }
  };
  level("memory.rss", "VmRSS");
  level("memory.peak_rss", "VmHWM");
}

}  // namespace

void SampleProcess(const std::string& proc_self, std::vector<Counter>* counters) {
  SampleIo(proc_self, counters);
  SampleUsage(counters);
  SampleMemory(proc_self, counters);
}

}  // namespace kvdyno
