// Repair and Destroy: what is done to a store that is not open.
#include <algorithm>
#include <string>
#include <vector>

#include "check/check.h"
#include "check/repair.h"
#include "chunkstore/store.h"
#include "store/resolve.h"

namespace chunkstore {

Status Store::Repair(const Options& options, const std::string& directory, CheckReport* report) {
  Options resolved;
  if (Status status = ResolveOptions(options, MemoryCap(), &resolved); !status.ok()) return status;
  kvdyno::FileSystem* files = resolved.file_system;
  std::unique_ptr<kvdyno::DirectoryLock> lock;
  if (Status status = files->Lock(directory, &lock); !status.ok()) return status;
  CheckReport found;
  const Status checked = CheckStore(files, directory, &found);
  if (checked.ok() && found.problems.empty()) {
    *report = std::move(found);
    return Status::Ok();
  }
  RepairOptions repair;
  repair.chunk_bytes = resolved.chunk_size;
  repair.block_bytes = resolved.block_size;
  return RepairStore(files, directory, repair, report);
}

namespace {

// Whether a store makes files of this name; ".new" is what an interrupted replacement leaves.
bool IsOurs(std::string name) {
  constexpr std::string_view kNew = ".new";
  if (name.ends_with(kNew)) name.resize(name.size() - kNew.size());
  if (name == "CURRENT" || name == "LOCK") return true;
  constexpr std::string_view kPrefixes[] = {"manifest-", "segment-", "ring-", "spill-"};
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

Status Store::Destroy(const Options& options, const std::string& directory) {
  Options resolved;
  if (Status status = ResolveOptions(options, MemoryCap(), &resolved); !status.ok()) return status;
  kvdyno::FileSystem* files = resolved.file_system;
  std::vector<std::string> names;
  if (Status status = files->List(directory, &names); !status.ok()) return status;
  for (const std::string& name : names) {
    if (IsOurs(name)) continue;
    return Status::InvalidArgument("destroy " + directory +
                                   ": expected a store's files alone, got " + name +
                                   "; move it away first");
  }
  std::unique_ptr<kvdyno::DirectoryLock> lock;
  if (Status status = files->Lock(directory, &lock); !status.ok()) return status;
  // Without CURRENT there is no store: an interruption leaves none that opens with files missing.
  const auto removed_first = [](const std::string& name) { return name == "CURRENT"; };
  std::stable_partition(names.begin(), names.end(), removed_first);
  for (const std::string& name : names) {
    if (name == "LOCK") continue;
    if (Status status = files->Remove(directory + "/" + name); !status.ok()) return status;
  }
  lock.reset();
  const Status unlocked = files->Remove(directory + "/LOCK");
  return unlocked.not_found() ? Status::Ok() : unlocked;
}

}  // namespace chunkstore
