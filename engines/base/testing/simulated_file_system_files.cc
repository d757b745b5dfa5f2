#include "simulated_file_system_files.h"

#include <algorithm>
#include <utility>

namespace kvdyno::testing {
namespace {

Status CheckAligned(const char* call, const std::string& path, uint64_t offset, uint64_t length,
                    const char* address, size_t alignment) {
  const auto place = reinterpret_cast<uintptr_t>(address);
  if ((offset | length | place) % alignment == 0) return Status::Ok();
  return Status::InvalidArgument(Complaint(
      call, path,
      "expected offset, length and address aligned to " + std::to_string(alignment) +
          ", got offset " + std::to_string(offset) + ", length " + std::to_string(length) +
          ", address " + std::to_string(place % alignment) + " beyond an aligned one"));
}

// A sync during which the power goes has written something; the loss that follows decides of the
// rest.
void SyncContent(SimulatedDisk* disk, Content* content, Content::Pages pages, bool last) {
  if (!last) return content->Sync(pages);
  const Loss part = disk->loss_then == Loss::kTorn ? Loss::kTorn : Loss::kRandom;
  content->Settle(part, &disk->choices, pages);
}

}  // namespace

OpenNode::OpenNode(std::shared_ptr<SimulatedDisk> on_disk, NodePtr open, std::string at)
    : disk(std::move(on_disk)),
      power_on(disk->power_on),
      path(std::move(at)),
      node(std::move(open)) {
  ++node->opens;
}

OpenNode::~OpenNode() {
  const std::lock_guard guard(disk->mutex);
  disk->Closed(node, power_on);
  node.reset();
}

SimulatedRandomAccessFile::SimulatedRandomAccessFile(std::shared_ptr<SimulatedDisk> disk,
                                                     NodePtr node, std::string path, bool direct)
    : open_(std::move(disk), std::move(node), std::move(path)),
      size_(open_.node->content.size()),
      direct_(direct) {}

Status SimulatedRandomAccessFile::Read(uint64_t offset, size_t length, char* buffer,
                                       size_t* read) const {
  *read = 0;
  Status status = CheckAligned("read", open_.path, offset, length, buffer, alignment());
  if (!status.ok()) return status;
  const std::lock_guard guard(open_.disk->mutex);
  status = open_.disk->CheckPower("read", open_.path, open_.power_on);
  if (status.ok()) *read = open_.node->content.Read(offset, length, buffer);
  return status;
}

SimulatedWritableFile::SimulatedWritableFile(std::shared_ptr<SimulatedDisk> disk, NodePtr node,
                                             std::string path, bool direct)
    : open_(std::move(disk), std::move(node), std::move(path)), direct_(direct) {}

Status SimulatedWritableFile::Append(std::string_view bytes) {
  return open_.disk->Modify("append", open_.path, open_.power_on,
                            [&](bool last) { return AppendLocked(bytes, last); });
}

Status SimulatedWritableFile::AppendLocked(std::string_view bytes, bool last) {
  SimulatedDisk& disk = *open_.disk;
  Content& content = open_.node->content;
  Status status = CheckUnmapped("append", open_.path, content);
  if (status.ok() && direct_) {
    status =
        CheckAligned("append", open_.path, size_, bytes.size(), bytes.data(), kDirectAlignment);
  }
  if (!status.ok()) return status;
  uint64_t length = bytes.size();
  if (last) {
    length = disk.choices.Below(length + 1);
    if (direct_) length -= length % Content::kSectorBytes;
  }
  if (content.NewBlocks(size_, length) > disk.FreeBlocks()) {
    status = Status::NoSpace(Complaint("append", open_.path, "expected space, got a full disk"));
    // What still fits, or nothing.
    const uint64_t page_rest =
        (Content::kPageBytes - size_ % Content::kPageBytes) % Content::kPageBytes;
    const uint64_t fits = page_rest + disk.FreeBlocks() * Content::kPageBytes;
    length = disk.choices.Coin() ? std::min(length, fits) : 0;
    if (content.NewBlocks(size_, length) > disk.FreeBlocks()) length = 0;
  }
  content.Write(size_, bytes.substr(0, length));
  size_ += length;
  return status;
}

Status SimulatedWritableFile::Sync() {
  return open_.disk->Modify("sync", open_.path, open_.power_on, [this](bool last) {
    SyncContent(open_.disk.get(), &open_.node->content, {}, last);
    return Status::Ok();
  });
}

SimulatedMappedFile::SimulatedMappedFile(std::shared_ptr<SimulatedDisk> disk, NodePtr node,
                                         std::string path)
    : open_(std::move(disk), std::move(node), std::move(path)),
      size_(open_.node->content.size()),
      memory_(open_.node->content.Map()) {}

SimulatedMappedFile::~SimulatedMappedFile() {
  const std::lock_guard guard(open_.disk->mutex);
  if (open_.power_on == open_.disk->power_on) open_.node->content.Unmap();
}

Status SimulatedMappedFile::Sync(size_t offset, size_t length) {
  if (offset > size_ || length > size_ - offset) {
    return Status::InvalidArgument(Complaint("sync mapping", open_.path,
                                             "expected a range within " + std::to_string(size_) +
                                                 " bytes, got offset " + std::to_string(offset) +
                                                 ", length " + std::to_string(length)));
  }
  const Content::Pages pages{offset / Content::kPageBytes,
                             (offset + length + Content::kPageBytes - 1) / Content::kPageBytes};
  return open_.disk->Modify("sync mapping", open_.path, open_.power_on, [&](bool last) {
    SyncContent(open_.disk.get(), &open_.node->content, pages, last);
    return Status::Ok();
  });
}

SimulatedLock::SimulatedLock(std::shared_ptr<SimulatedDisk> disk, NodePtr directory, bool shared)
    : disk_(std::move(disk)),
      power_on_(disk_->power_on),
      directory_(std::move(directory)),
      shared_(shared) {
  if (shared_) {
    disk_->locked_shared.insert(directory_);
  } else {
    disk_->locked.insert(directory_);
  }
}

SimulatedLock::~SimulatedLock() {
  const std::lock_guard guard(disk_->mutex);
  if (power_on_ != disk_->power_on) return;
  if (shared_) {
    disk_->locked_shared.erase(disk_->locked_shared.find(directory_));
  } else {
    disk_->locked.erase(directory_);
  }
}

}  // namespace kvdyno::testing
