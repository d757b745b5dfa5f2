#include "kvdyno/base/testing/simulated_file_system.h"

#include <algorithm>
#include <utility>

#include "simulated_file_system_disk.h"
#include "simulated_file_system_files.h"

namespace kvdyno::testing {
namespace {

constexpr uint64_t kByPath = SimulatedDisk::kByPath;

// A mapping's file gets its name only once it is whole, so that none of another size is ever seen;
// when the power goes, something unfinished may be left under another name.
Status CreateAllocated(SimulatedDisk* disk, const std::string& path, size_t size, bool last,
                       Tree::Place* place) {
  if (Content().NewBlocks(0, size) > disk->FreeBlocks()) {
    return Status::NoSpace(Complaint("map", path, "expected space, got a full disk"));
  }
  if (!disk->Happens(last)) {
    Tree::Place unfinished;
    if (disk->FindPlace("map", path + ".new", &unfinished).ok() && !unfinished.node) {
      disk->tree.Add(unfinished, false)->content.Resize(disk->choices.Below(size + 1));
    }
    return Status::Ok();
  }
  place->node = disk->tree.Add(*place, false);
  place->node->content.Resize(size);
  place->node->content.Allocate();
  place->node->content.Sync();
  disk->MaybeDurable(last);
  return Status::Ok();
}

Status CheckExisting(SimulatedDisk* disk, const std::string& path, size_t size, Content* content) {
  if (content->size() != size) {
    return Status::InvalidArgument(Complaint(
        "map", path,
        "expected " + std::to_string(size) + " bytes, got " + std::to_string(content->size())));
  }
  if (content->NewBlocks(0, size) > disk->FreeBlocks()) {
    return Status::NoSpace(Complaint("map", path, "expected space, got a full disk"));
  }
  content->Allocate();
  return Status::Ok();
}

}  // namespace

SimulatedFileSystem::SimulatedFileSystem(uint64_t seed)
    : disk_(std::make_shared<SimulatedDisk>(seed)) {}

SimulatedFileSystem::~SimulatedFileSystem() = default;

void SimulatedFileSystem::LosePower(Loss loss) {
  const std::lock_guard guard(disk_->mutex);
  disk_->LosePower(loss);
}

void SimulatedFileSystem::LosePowerAfter(uint64_t calls, Loss loss) {
  const std::lock_guard guard(disk_->mutex);
  disk_->calls_left = calls;
  disk_->loss_then = loss;
  if (calls == 0) disk_->LosePower(loss);
}

bool SimulatedFileSystem::power_lost() const {
  const std::lock_guard guard(disk_->mutex);
  return disk_->lost;
}

void SimulatedFileSystem::Restart() {
  const std::lock_guard guard(disk_->mutex);
  disk_->lost = false;
}

uint64_t SimulatedFileSystem::modifying_calls() const {
  const std::lock_guard guard(disk_->mutex);
  return disk_->calls;
}

void SimulatedFileSystem::SetCapacity(uint64_t bytes) {
  const std::lock_guard guard(disk_->mutex);
  disk_->capacity = bytes;
}

void SimulatedFileSystem::SetReadOnly(bool read_only) {
  const std::lock_guard guard(disk_->mutex);
  disk_->read_only = read_only;
}

Status SimulatedFileSystem::Flip(const std::string& path, uint64_t bit) {
  const std::lock_guard guard(disk_->mutex);
  Tree::Place place;
  if (Status status = disk_->FindFile("flip", path, &place); !status.ok()) return status;
  Content& content = place.node->content;
  if (bit / 8 >= content.size()) {
    return Status::InvalidArgument(Complaint("flip", path,
                                             "expected a bit below " +
                                                 std::to_string(content.size() * 8) + ", got " +
                                                 std::to_string(bit)));
  }
  content.Flip(bit);
  return Status::Ok();
}

Status SimulatedFileSystem::OpenForRead(const std::string& path, bool direct,
                                        std::unique_ptr<RandomAccessFile>* file) {
  std::unique_ptr<RandomAccessFile> opened;  // what *file was is closed without the lock
  {
    const std::lock_guard guard(disk_->mutex);
    Tree::Place place;
    Status status = disk_->CheckPower("open", path, kByPath);
    if (status.ok()) status = disk_->FindFile("open", path, &place);
    if (!status.ok()) return status;
    opened = std::make_unique<SimulatedRandomAccessFile>(disk_, place.node, path, direct);
  }
  *file = std::move(opened);
  return Status::Ok();
}

Status SimulatedFileSystem::Create(const std::string& path, bool direct,
                                   std::unique_ptr<WritableFile>* file) {
  std::unique_ptr<WritableFile> created;  // not handed out by a call that fails
  Status status = disk_->Modify("create", path, kByPath, [&](bool last) {
    Tree::Place place;
    Status found = disk_->FindPlace("create", path, &place);
    if (found.ok() && place.node) found = CheckUnmapped("create", path, place.node->content);
    if (!found.ok() || !disk_->Happens(last)) return found;
    if (place.node) {
      place.node->content.Resize(0);
    } else {
      place.node = disk_->tree.Add(place, false);
      disk_->MaybeDurable(last);
    }
    created = std::make_unique<SimulatedWritableFile>(disk_, place.node, path, direct);
    return Status::Ok();
  });
  if (status.ok()) *file = std::move(created);
  return status;
}

Status SimulatedFileSystem::Map(const std::string& path, size_t size,
                                std::unique_ptr<MappedFile>* file) {
  if (size == 0) return Status::InvalidArgument(Complaint("map", path, "expected a size above 0"));
  std::unique_ptr<MappedFile> mapped;
  Status status = disk_->Modify("map", path, kByPath, [&](bool last) {
    Tree::Place place;
    Status found = disk_->FindPlace("map", path, &place);
    if (!found.ok()) return found;
    found = place.node ? CheckExisting(disk_.get(), path, size, &place.node->content)
                       : CreateAllocated(disk_.get(), path, size, last, &place);
    if (!found.ok() || last) return found;
    mapped = std::make_unique<SimulatedMappedFile>(disk_, place.node, path);
    return Status::Ok();
  });
  if (status.ok()) *file = std::move(mapped);
  return status;
}

Status SimulatedFileSystem::Rename(const std::string& from, const std::string& to) {
  return disk_->Modify("rename", from, kByPath, [&](bool last) {
    Tree::Place source, target;
    Status found = disk_->FindFile("rename", from, &source);
    if (found.ok()) found = disk_->FindPlace("rename", to, &target);
    if (!found.ok() || source.node == target.node || !disk_->Happens(last)) return found;
    disk_->tree.Rename(source, target);
    if (target.node) disk_->Unlinked(target.node);
    disk_->MaybeDurable(last);
    return Status::Ok();
  });
}

Status SimulatedFileSystem::Remove(const std::string& path) {
  return disk_->Modify("remove", path, kByPath, [&](bool last) {
    Tree::Place place = disk_->tree.Find(path);
    Status found;
    if (place.parent == nullptr || place.node == nullptr || !place.node->directory) {
      found = disk_->FindFile("remove", path, &place);
    } else if (!place.node->now.empty()) {
      found = Status::IoError(
          Complaint("remove", path, "expected an empty directory, got one with entries"));
    }
    if (!found.ok() || !disk_->Happens(last)) return found;
    disk_->tree.Remove(place);
    disk_->Unlinked(place.node);
    disk_->MaybeDurable(last);
    return Status::Ok();
  });
}

Status SimulatedFileSystem::Truncate(const std::string& path, uint64_t size) {
  return disk_->Modify("truncate", path, kByPath, [&](bool last) {
    Tree::Place place;
    Status found = disk_->FindFile("truncate", path, &place);
    if (found.ok()) found = CheckUnmapped("truncate", path, place.node->content);
    if (found.ok() && disk_->Happens(last)) place.node->content.Resize(size);
    return found;
  });
}

Status SimulatedFileSystem::PunchHole(const std::string& path, uint64_t offset, uint64_t length) {
  return disk_->Modify("punch hole", path, kByPath, [&](bool last) {
    Tree::Place place;
    Status found = disk_->FindFile("punch hole", path, &place);
    if (!found.ok() || !disk_->Happens(last)) return found;
    const uint64_t size = place.node->content.size();
    const uint64_t begin = std::min(offset, size);
    const uint64_t end = begin + std::min(length, size - begin);
    const uint64_t first_page = (begin + Content::kPageBytes - 1) / Content::kPageBytes;
    const uint64_t end_page = end / Content::kPageBytes;
    if (first_page < end_page) place.node->content.Punch(first_page, end_page - first_page);
    return Status::Ok();
  });
}

Status SimulatedFileSystem::CreateDirectory(const std::string& path) {
  return disk_->Modify("mkdir", path, kByPath, [&](bool last) {
    const Tree::Place place = disk_->tree.Find(path);
    if (place.node && place.node->directory) return Status::Ok();
    Tree::Place free;
    Status found = disk_->FindPlace("mkdir", path, &free);
    if (found.ok() && free.node) {
      found = Status::IoError(Complaint("mkdir", path, "expected a free name, got a file"));
    }
    if (!found.ok() || !disk_->Happens(last)) return found;
    disk_->tree.Add(free, true);
    disk_->MaybeDurable(last);
    return Status::Ok();
  });
}

Status SimulatedFileSystem::SyncDirectory(const std::string& path) {
  return disk_->Modify("sync directory", path, kByPath, [&](bool last) {
    NodePtr directory;
    Status found = disk_->FindDirectory("sync directory", path, &directory);
    if (!found.ok()) return found;
    if (last) {
      disk_->tree.SyncInPart(directory, &disk_->choices);
    } else {
      disk_->tree.Sync(directory);
    }
    return Status::Ok();
  });
}

Status SimulatedFileSystem::List(const std::string& path, std::vector<std::string>* names) {
  const std::lock_guard guard(disk_->mutex);
  names->clear();
  NodePtr directory;
  Status status = disk_->CheckPower("list", path, kByPath);
  if (status.ok()) status = disk_->FindDirectory("list", path, &directory);
  if (!status.ok()) return status;
  for (const auto& [name, node] : directory->now) names->push_back(name);
  return Status::Ok();
}

Status SimulatedFileSystem::Size(const std::string& path, uint64_t* size) {
  const std::lock_guard guard(disk_->mutex);
  Tree::Place place;
  Status status = disk_->CheckPower("size", path, kByPath);
  if (status.ok()) status = disk_->FindFile("size", path, &place);
  if (status.ok()) *size = place.node->content.size();
  return status;
}

bool SimulatedFileSystem::Exists(const std::string& path) {
  const std::lock_guard guard(disk_->mutex);
  return !disk_->lost && disk_->tree.Find(path).node != nullptr;
}

Status SimulatedFileSystem::Lock(const std::string& path, std::unique_ptr<DirectoryLock>* lock) {
  const std::string file = path + "/LOCK";
  if (!Exists(file)) {
    // Only what creates the file modifies anything. Read-only media cannot have it created.
    std::unique_ptr<WritableFile> created;
    if (Status status = Create(file, false, &created); !status.ok()) return status;
  }
  return TakeLock(path, false, lock);
}

Status SimulatedFileSystem::LockShared(const std::string& path,
                                       std::unique_ptr<DirectoryLock>* lock) {
  if (Exists(path + "/LOCK")) return TakeLock(path, true, lock);
  lock->reset();
  return Status::Ok();
}

Status SimulatedFileSystem::TakeLock(const std::string& path, bool shared,
                                     std::unique_ptr<DirectoryLock>* lock) {
  std::unique_ptr<DirectoryLock> taken;  // what *lock was is released without the lock
  {
    const std::lock_guard guard(disk_->mutex);
    NodePtr directory;
    Status status = disk_->CheckPower("lock", path, kByPath);
    if (status.ok()) status = disk_->FindDirectory("lock", path, &directory);
    if (!status.ok()) return status;
    const bool busy =
        disk_->locked.contains(directory) || (!shared && disk_->locked_shared.contains(directory));
    if (busy) {
      return Status::Busy(
          Complaint("lock", path + "/LOCK", "expected no other user, got this same process"));
    }
    taken = std::make_unique<SimulatedLock>(disk_, directory, shared);
  }
  *lock = std::move(taken);
  return Status::Ok();
}

}  // namespace kvdyno::testing
