#include "external/scratch.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

namespace sampling {
namespace {

constexpr std::string_view kPrefix = "sampling-";
constexpr std::string_view kSuffix = ".pages";

bool IsShardFile(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return false;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(kSuffix.size());
  return !name.empty() && std::all_of(name.begin(), name.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace

Status Scratch::Open(kvdyno::FileSystem* files, const std::string& directory,
                     std::shared_ptr<Scratch>* scratch) {
  std::shared_ptr<Scratch> opened(new Scratch(files, directory));
  Status status = files->CreateDirectory(directory);
  if (status.ok()) status = files->Lock(directory, &opened->lock_);
  if (status.ok()) status = opened->RemoveLeftOvers();
  if (status.ok()) *scratch = std::move(opened);
  return status;
}

std::string Scratch::PathOf(uint32_t number) const {
  return directory_ + "/" + std::string(kPrefix) + std::to_string(number) + std::string(kSuffix);
}

Status Scratch::RemoveLeftOvers() {
  std::vector<std::string> names;
  Status status = files_->List(directory_, &names);
  for (const std::string& name : names) {
    if (status.ok() && IsShardFile(name)) status = files_->Remove(directory_ + "/" + name);
  }
  return status;
}

}  // namespace sampling
