// SimulatedDisk: one simulated disk with its power and its limits.
// Owns the tree, the choices and the lock under which everything happens. Knows no interface: the
// file system and the files that it gives out share it. Safe from any thread where the lock is
// held.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "simulated_file_system_tree.h"

namespace kvdyno::testing {

class SimulatedDisk {
 public:
  explicit SimulatedDisk(uint64_t seed) : choices(seed) {}

  static constexpr uint64_t kByPath = 0;  // no power-on: the call concerns no open file
  // Does what a call is for; `last`: the power goes while it does.
  using Work = std::function<Status(bool last)>;
  // The frame of every modifying call: takes the lock, looks at power and media, counts, and lets
  // the power go after the last call. `of_power_on` is the one that the file was opened in, or
  // kByPath.
  Status Modify(const char* call, const std::string& path, uint64_t of_power_on, const Work& work);

  // All below: `mutex` is held.

  Status CheckPower(const char* call, const std::string& path, uint64_t of_power_on) const;
  void LosePower(Loss with);
  // The file at a path, which must exist.
  Status FindFile(const char* call, const std::string& path, Tree::Place* place) const;
  Status FindDirectory(const char* call, const std::string& path, NodePtr* directory) const;
  // A place for a file, which need not exist, in a directory that does.
  Status FindPlace(const char* call, const std::string& path, Tree::Place* place) const;
  // The two coins of a change in a directory during which the power goes: whether it happens at
  // all, and, once it has, whether it is durable at once.
  bool Happens(bool last) { return !last || choices.Coin(); }
  void MaybeDurable(bool last);

  uint64_t FreeBlocks() const;
  void Unlinked(const NodePtr& node);  // just lost its name
  void Closed(const NodePtr& node, uint64_t of_power_on);

  mutable std::mutex mutex;
  Tree tree;
  Choices choices;
  uint64_t power_on = 1;  // counts them, so that a file knows whether its own is over
  bool lost = false;
  uint64_t calls = 0;
  uint64_t calls_left = 0;  // until the power goes; 0: it stays
  Loss loss_then = Loss::kDropAll;
  uint64_t capacity = UINT64_MAX;
  bool read_only = false;
  std::set<NodePtr> locked;  // directories, by one alone
  std::multiset<NodePtr> locked_shared;
  std::set<NodePtr> nameless;  // removed files that are still open and take up space
};

// The memory of a mapping stands for the whole file: changing it in other ways meanwhile is
// refused.
Status CheckUnmapped(const char* call, const std::string& path, const Content& content);

// "call path: expected X, got Y".
std::string Complaint(const char* call, const std::string& path, std::string_view rest);

}  // namespace kvdyno::testing
