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
  repair.filter_bits = resolved.table_filter_bits;
  return RepairStore(files, directory, repair, report);
}

namespace {

// Whether a store makes files of this name; ".new" is what an interrupted replacement leaves.
bool IsOurFile(std::string name) {
  constexpr std::string_view kNew = ".new";
  if (name.ends_with(kNew)) name.resize(name.size() - kNew.size());
  if (name == "CURRENT" || name == "LOCK") return true;
  constexpr std::string_view kPrefixes[] = {"manifest-", "segment-", "ring-", "spill-", "warmth-"};
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// The files of a store in `directory`, in what repairs have put aside as well, each such folder
// after its files. InvalidArgument for whatever else is there.
Status FindOurs(kvdyno::FileSystem* files, const std::string& directory, bool aside,
                std::vector<std::string>* paths) {
  std::vector<std::string> names;
  if (Status status = files->List(directory, &names); !status.ok()) return status;
  for (const std::string& name : names) {
    const std::string path = directory + "/" + name;
    if (!aside && IsLostFolderName(name)) {
      if (Status status = FindOurs(files, path, true, paths); !status.ok()) return status;
    } else if (!IsOurFile(name)) {
      return Status::InvalidArgument("destroy " + directory +
                                     ": expected a store's files alone, got " + name +
                                     "; move it away first");
    }
    paths->push_back(path);
  }
  return Status::Ok();
}

}  // namespace

Status Store::Destroy(const Options& options, const std::string& directory) {
  Options resolved;
  if (Status status = ResolveOptions(options, MemoryCap(), &resolved); !status.ok()) return status;
  kvdyno::FileSystem* files = resolved.file_system;
  std::vector<std::string> paths;
  if (Status status = FindOurs(files, directory, false, &paths); !status.ok()) return status;
  std::unique_ptr<kvdyno::DirectoryLock> lock;
  if (Status status = files->Lock(directory, &lock); !status.ok()) return status;
  // Without CURRENT there is no store: an interruption leaves none that opens with files missing.
  const auto removed_first = [&](const std::string& path) {
    return path == directory + "/CURRENT";
  };
  std::stable_partition(paths.begin(), paths.end(), removed_first);
  const std::string lock_path = directory + "/LOCK";
  for (const std::string& path : paths) {
    if (path == lock_path) continue;
    if (Status status = files->Remove(path); !status.ok()) return status;
  }
  lock.reset();
  const Status unlocked = files->Remove(lock_path);
  return unlocked.not_found() ? Status::Ok() : unlocked;
}

}  // namespace chunkstore
