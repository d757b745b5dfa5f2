// Cgroup: memory and I/O of the control group that this process lives in, version 1 or 2.
// Owns the paths of the group's folders; finds them once, reads them at each sample.
// Immutable; safe from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kvdyno/api/adapter.h"

namespace kvdyno {

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
