// Sampling /proc/self, getrusage and the control group's files.
#include "measure/kernel.h"

#include <sys/resource.h>

#include <algorithm>
#include <optional>

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

bool Lists(std::string_view comma_separated, std::string_view word) {
  const auto words = Split(comma_separated, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Lines of /proc/self/cgroup: "4:memory:/a/b" (version 1), "0::/a/b" (version 2).
std::optional<std::string> GroupOf(std::string_view memberships, std::string_view controller) {
  for (const std::string_view line : Split(memberships, '\n')) {
    const size_t first = line.find(':');
    const size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? controllers.empty() : Lists(controllers, controller)) {
      return std::string(line.substr(second + 1));
    }
  }
  return std::nullopt;
}

struct Mount {
  std::string root;   // the part of the hierarchy that is mounted
  std::string point;  // where
};

// Lines of /proc/self/mountinfo: "35 31 0:32 ROOT POINT options [tags] - TYPE source OPTIONS".
std::optional<Mount> MountOf(std::string_view mounts, std::string_view type,
                             std::string_view controller) {
  for (const std::string_view line : Split(mounts, '\n')) {
    const size_t dash = line.find(" - ");
    if (dash == line.npos) continue;
    const auto before = Split(line.substr(0, dash), ' ');
    const auto after = Split(line.substr(dash + 3), ' ');
    if (before.size() < 5 || after.size() < 3 || after[0] != type) continue;
    if (!controller.empty() && !Lists(after[2], controller)) continue;
    return Mount{std::string(before[3]), std::string(before[4])};
  }
  return std::nullopt;
}

std::string FolderOf(const Mount& mount, const std::string& group) {
  // In a container only a part of the hierarchy may be mounted, while the group is named from
  // the top.
  const bool mounted_below = mount.root != "/" && group.starts_with(mount.root);
  const std::string below = mounted_below ? group.substr(mount.root.size()) : group;
  return below == "/" ? mount.point : mount.point + below;
}

}  // namespace

void SampleProcess(const std::string& proc_self, std::vector<Counter>* counters) {
  SampleIo(proc_self, counters);
  SampleUsage(counters);
  SampleMemory(proc_self, counters);
}

Cgroup Cgroup::OfThisProcess() {
  return Cgroup(ReadTextFile("/proc/self/cgroup").value_or(""),
                ReadTextFile("/proc/self/mountinfo").value_or(""));
}

Cgroup::Cgroup(std::string_view memberships, std::string_view mounts)
    : memory_(Find(memberships, mounts, "memory")), io_(Find(memberships, mounts, "blkio")) {}

Cgroup::Folder Cgroup::Find(std::string_view memberships, std::string_view mounts,
                            std::string_view controller) {
  if (const auto group = GroupOf(memberships, controller)) {
    const auto mount = MountOf(mounts, "cgroup", controller);
    if (mount) return {FolderOf(*mount, *group), false};
  }
  if (const auto group = GroupOf(memberships, "")) {
    const auto mount = MountOf(mounts, "cgroup2", "");
    if (mount) return {FolderOf(*mount, *group), true};
  }
  return {};
}

void Cgroup::Sample(std::vector<Counter>* counters) const {
  if (!memory_.path.empty()) SampleMemory(counters);
  if (!io_.path.empty()) SampleIo(counters);
}

void Cgroup::SampleMemory(std::vector<Counter>* counters) const {
  const auto append = [&](const char* name, std::optional<uint64_t> value) {
    if (value) counters->push_back({name, static_cast<double>(*value), "byte", false});
  };
  const auto whole_file = [&](const char* file) {
    const auto text = ReadTextFile(memory_.path + "/" + file);
    return text ? ParseNumber(text->substr(0, text->find('\n'))) : std::nullopt;
  };
  append("cgroup.memory.usage",
         whole_file(memory_.v2 ? "memory.current" : "memory.usage_in_bytes"));
  append("cgroup.memory.peak",
         whole_file(memory_.v2 ? "memory.peak" : "memory.max_usage_in_bytes"));
  const std::string stat = ReadTextFile(memory_.path + "/memory.stat").value_or("");
  append("cgroup.memory.anonymous", NumberAfter(stat, memory_.v2 ? "anon" : "total_rss"));
  append("cgroup.memory.page_cache", NumberAfter(stat, memory_.v2 ? "file" : "total_cache"));
}

void Cgroup::SampleIo(std::vector<Counter>* counters) const {
  const char* file = io_.v2 ? "/io.stat" : "/blkio.throttle.io_service_bytes_recursive";
  const auto text = ReadTextFile(io_.path + file);
  if (!text) return;
  uint64_t read = 0;
  uint64_t written = 0;
  for (const std::string_view line : Split(*text, '\n')) {
    const auto words = Split(line, ' ');
    if (io_.v2) {  // "8:0 rbytes=1 wbytes=2 rios=..."
      for (const std::string_view word : words) {
        if (word.starts_with("rbytes=")) read += ParseNumber(word.substr(7)).value_or(0);
        if (word.starts_with("wbytes=")) written += ParseNumber(word.substr(7)).value_or(0);
      }
    } else if (words.size() == 3) {  // "8:0 Read 1"
      if (words[1] == "Read") read += ParseNumber(words[2]).value_or(0);
      if (words[1] == "Write") written += ParseNumber(words[2]).value_or(0);
    }
  }
  // Version 1 counts nothing, and shows 0, until some throttle rule exists.
  if (!io_.v2 && read == 0 && written == 0) return;
  counters->push_back({"cgroup.io.read_bytes", static_cast<double>(read), "byte", true});
  counters->push_back({"cgroup.io.write_bytes", static_cast<double>(written), "byte", true});
}

}  // namespace kvdyno
