#include "simulated_file_system_disk.h"

namespace kvdyno::testing {

std::string Complaint(const char* call, const std::string& path, std::string_view rest) {
  return std::string(call).append(" ").append(path).append(": ").append(rest);
}

Status CheckUnmapped(const char* call, const std::string& path, const Content& content) {
  if (!content.mapped()) return Status::Ok();
  return Status::InvalidArgument(
      Complaint(call, path, "expected a file without a live mapping, got a mapped one"));
}

Status SimulatedDisk::CheckPower(const char* call, const std::string& path,
                                 uint64_t of_power_on) const {
  if (!lost && (of_power_on == kByPath || of_power_on == power_on)) return Status::Ok();
  return Status::IoError(Complaint(call, path, "expected a running machine, got power lost"));
}

Status SimulatedDisk::Modify(const char* call, const std::string& path, uint64_t of_power_on,
                             const Work& work) {
  const std::lock_guard guard(mutex);
  if (Status status = CheckPower(call, path, of_power_on); !status.ok()) return status;
  ++calls;
  const bool last = calls_left > 0 && --calls_left == 0;
  Status status =
      read_only
          ? Status::ReadOnly(Complaint(call, path, "expected writable media, got read-only media"))
          : work(last);
  if (!last) return status;
  LosePower(loss_then);
  return CheckPower(call, path, of_power_on);
}

void SimulatedDisk::LosePower(Loss with) {
  lost = true;
  ++power_on;
  calls_left = 0;
  locked.clear();
  locked_shared.clear();
  nameless.clear();
  tree.Settle(with, &choices);
}

Status SimulatedDisk::FindPlace(const char* call, const std::string& path,
                                Tree::Place* place) const {
  *place = tree.Find(path);
  if (place->node && place->node->directory) {
    return Status::IoError(Complaint(call, path, "expected a file, got a directory"));
  }
  if (place->parent) return Status::Ok();
  return {Code::kNotFound, Complaint(call, path, "expected an existing directory, got none")};
}

Status SimulatedDisk::FindFile(const char* call, const std::string& path,
                               Tree::Place* place) const {
  if (Status status = FindPlace(call, path, place); !status.ok()) return status;
  if (place->node) return Status::Ok();
  return {Code::kNotFound, Complaint(call, path, "expected a file, got none")};
}

Status SimulatedDisk::FindDirectory(const char* call, const std::string& path,
                                    NodePtr* directory) const {
  *directory = tree.Find(path).node;
  if (!*directory) {
    return {Code::kNotFound, Complaint(call, path, "expected a directory, got none")};
  }
  if ((*directory)->directory) return Status::Ok();
  return Status::IoError(Complaint(call, path, "expected a directory, got a file"));
}

void SimulatedDisk::MaybeDurable(bool last) {
  if (last && choices.Coin()) tree.SyncNewest();
}

uint64_t SimulatedDisk::FreeBlocks() const {
  if (capacity == UINT64_MAX) return UINT64_MAX;
  uint64_t used = tree.blocks();
  for (const NodePtr& node : nameless) used += node->content.blocks();
  const uint64_t blocks = capacity / Content::kPageBytes;
  return blocks > used ? blocks - used : 0;
}

void SimulatedDisk::Unlinked(const NodePtr& node) {
  if (node->opens > 0) nameless.insert(node);
}

void SimulatedDisk::Closed(const NodePtr& node, uint64_t of_power_on) {
  if (of_power_on != power_on) return;
  if (--node->opens == 0) nameless.erase(node);
}

}  // namespace kvdyno::testing
