// Index::Open: which options it refuses.
#include <cmath>
#include <string>

#include "external/scratch.h"
#include "index/budget.h"
#include "index/dynamic_index.h"

namespace sampling {

Status Index::Open(const Options& options, std::unique_ptr<Index>* index) {
  const auto refuse = [](const char* option, const char* range, double found) {
    return Status::InvalidArgument(std::string("open ") + option + ": expected " + range +
                                   ", got " + std::to_string(found));
  };
  if (options.kind == nullptr) return Status::InvalidArgument("open kind: expected one, got null");
  if (options.scale_factor < 2 || options.scale_factor > 1000) {
    return refuse("scale_factor", "2 to 1000", static_cast<double>(options.scale_factor));
  }
  if (options.buffer_records < 1 || options.buffer_records > size_t{1} << 24) {
    return refuse("buffer_records", "1 to 2^24", static_cast<double>(options.buffer_records));
  }
  if (!(options.max_deleted > 0 && options.max_deleted < 1)) {
    return refuse("max_deleted", "a share between 0 and 1", options.max_deleted);
  }
  if (!(options.filter_false_positives > 0 && options.filter_false_positives <= 1)) {
    return refuse("filter_false_positives", "a rate above 0, at most 1",
                  options.filter_false_positives);
  }
  std::shared_ptr<Scratch> scratch;
  if (!options.directory.empty()) {
    if (options.memory_levels > 20)
      return refuse("memory_levels", "0 to 20", static_cast<double>(options.memory_levels));
    if (static_cast<double>(options.memory_bytes) < Budget::LeastMemory(options)) {
      const std::string least = "at least " +
                                std::to_string(std::ceil(Budget::LeastMemory(options))) +
                                " for these buffers and levels in memory";
      return refuse("memory_bytes", least.c_str(), static_cast<double>(options.memory_bytes));
    }
    kvdyno::FileSystem* const files =
        options.files != nullptr ? options.files : kvdyno::FileSystem::Posix();
    if (Status status = Scratch::Open(files, options.directory, &scratch); !status.ok())
      return status;
  }
  *index = std::make_unique<DynamicIndex>(options, std::move(scratch));
  return Status::Ok();
}

}  // namespace sampling
