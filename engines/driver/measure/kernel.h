// What the kernel counts for this process: /proc/self, getrusage and its control group, version 1
// or 2, whose folders are found once and read at each sample. Owns paths alone. Immutable; safe from
// any thread; figures cover all threads together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kvdyno/api/adapter.h"

namespace kvdyno {

// Appends io.*, cpu.*, faults.*, switches.* and memory.* as docs/formats.md defines them. What the
// kernel does not offer is left out. `proc_self` is "/proc/self" but for tests.
void SampleProcess(const std::string& proc_self, std::vector<Counter>* counters);

// Memory and I/O of the control group that this process lives in.
class Cgroup {
 public:
  // The group of this process; without any cgroup file system it samples nothing.
  static Cgroup OfThisProcess();

  // From the texts of /proc/self/cgroup and /proc/self/mountinfo.
  Cgroup(std::string_view memberships, std::string_view mounts);

  // Appends cgroup.memory.* and cgroup.io.* as docs/formats.md defines them. What the kernel does
  // not offer is left out.
  void Sample(std::vector<Counter>* counters) const;

 private:
  struct Folder {
    std::string path;  // empty: this controller is not mounted
    bool v2 = false;
  };

  static Folder Find(std::string_view memberships, std::string_view mounts,
                     std::string_view controller);
  void SampleMemory(std::vector<Counter>* counters) const;
  void SampleIo(std::vector<Counter>* counters) const;

  Folder memory_;
  Folder io_;
};

}  // namespace kvdyno
