// Making and emptying directories, on the main thread.
#include "places.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "report/outcome.h"

namespace kvdyno {
namespace {

namespace fs = std::filesystem;

// True also when they are the same. Neither has to exist.
bool IsInside(const fs::path& path, const fs::path& directory) {
  std::error_code ignored;
  const fs::path relative = fs::weakly_canonical(path, ignored)
                                .lexically_relative(fs::weakly_canonical(directory, ignored));
  return !relative.empty() && *relative.begin() != "..";
}

Status MakeDirectory(const std::string& property, const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    return Status::IoError(property + ": expected a directory at '" + path +
                           "': " + error.message());
  }
  const std::string probe = path + "/.kvdyno-probe";
  if (Status s = WriteFileAtomically(probe, ""); !s.ok()) {
    return Status::IoError(property + ": expected a writable directory: " + s.message());
  }
  fs::remove(probe, error);
  return Status::Ok();
}

// Links in the directory go, what they point to stays.
Status Empty(const std::string& directory) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    fs::remove_all(entry.path(), error);
    if (error) break;
  }
  if (!error) return Status::Ok();
  return Status::IoError("data.destroy: cannot empty '" + directory + "': " + error.message());
}

}  // namespace

Status CheckPlaces(const CommonSettings& settings) {
  if (!settings.destroy_data) return Status::Ok();
  const char* home = std::getenv("HOME");
  std::error_code ignored;
  const std::vector<std::pair<std::string, std::string>> kept = {
      {"output.dir", settings.output_dir},
      {"the working directory", fs::current_path(ignored)},
      {"the home directory", home == nullptr ? "" : home}};
  for (const auto& [name, path] : kept) {
    if (path.empty() || !IsInside(path, settings.data_dir)) continue;
    return Status::InvalidArgument("data.destroy: expected a store's own data.dir, got '" +
                                   settings.data_dir + "', which holds " + name + " '" + path +
                                   "'");
  }
  return Status::Ok();
}

Status PreparePlaces(const CommonSettings& settings) {
  Status status;
  if (!settings.output_dir.empty()) status = MakeDirectory("output.dir", settings.output_dir);
  if (status.ok()) status = MakeDirectory("data.dir", settings.data_dir);
  if (status.ok() && settings.destroy_data) status = Empty(settings.data_dir);
  return status;
}

}  // namespace kvdyno
