#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstdio>

#include "kvdyno/base/file_system.h"
#include "posix_files.h"
#include "posix_reads.h"

namespace kvdyno {
namespace {

constexpr mode_t kDirectoryMode = 0755;

Descriptor Open(const std::string& path, int flags) {
  bool direct = false;
  return OpenMaybeDirect(path, flags, &direct);
}

Status SizeOf(const std::string& path, const Descriptor& file, uint64_t* size) {
  struct stat about;
  if (::fstat(file.get(), &about) != 0) return ErrnoStatus("fstat", path, errno);
  *size = static_cast<uint64_t>(about.st_size);
  return Status::Ok();
}

// The name appears only once the file is whole: a death in between leaves none of a wrong size.
Status CreateAllocated(const std::string& path, size_t size, Descriptor* file) {
  const std::string unfinished = path + ".new";
  *file = Open(unfinished, O_RDWR | O_CREAT | O_TRUNC);
  if (!file->open()) return ErrnoStatus("open", unfinished, errno);
  Status status = AllocateZeros(unfinished, *file, size);
  if (status.ok() && Uninterrupted([&] { return ::fdatasync(file->get()); }) != 0) {
    status = ErrnoStatus("fdatasync", unfinished, errno);
  }
  if (status.ok() && ::rename(unfinished.c_str(), path.c_str()) != 0) {
    status = ErrnoStatus("rename", unfinished, errno);
  }
  if (!status.ok()) ::unlink(unfinished.c_str());
  return status;
}

Status CheckExisting(const std::string& path, size_t size, const Descriptor& file) {
  uint64_t existing = 0;
  if (Status status = SizeOf(path, file, &existing); !status.ok()) return status;
  if (existing != size) {
    return Status::InvalidArgument("map " + path + ": expected " + std::to_string(size) +
                                   " bytes, got " + std::to_string(existing));
  }
  return AllocateHoles(path, file, size);
}

class PosixFileSystem final : public FileSystem {
 public:
  Status OpenForRead(const std::string& path, bool direct,
                     std::unique_ptr<RandomAccessFile>* file) override {
    Descriptor opened = OpenMaybeDirect(path, O_RDONLY, &direct);
    if (!opened.open()) return ErrnoStatus("open", path, errno);
    uint64_t size = 0;
    if (Status status = SizeOf(path, opened, &size); !status.ok()) return status;
    const size_t alignment = direct ? DirectAlignmentOf(opened) : 1;
    *file =
        std::make_unique<PosixRandomAccessFile>(path, std::move(opened), size, direct, alignment);
    return Status::Ok();
  }

  void ReadTogether(std::vector<FileRead>* reads) override { reads_.Together(reads); }

  Status Create(const std::string& path, bool direct,
                std::unique_ptr<WritableFile>* file) override {
    const bool aligned = direct;
    Descriptor opened = OpenMaybeDirect(path, O_WRONLY | O_CREAT | O_TRUNC, &direct);
    if (!opened.open()) return ErrnoStatus("open", path, errno);
    *file = std::make_unique<PosixWritableFile>(path, std::move(opened), aligned, direct);
    return Status::Ok();
  }

  Status Map(const std::string& path, size_t size, std::unique_ptr<MappedFile>* file) override {
    if (size == 0) return Status::InvalidArgument("map " + path + ": expected a size above 0");
    Descriptor opened = Open(path, O_RDWR);
    if (!opened.open() && errno != ENOENT) return ErrnoStatus("open", path, errno);
    if (Status status = opened.open() ? CheckExisting(path, size, opened)
                                      : CreateAllocated(path, size, &opened);
        !status.ok()) {
      return status;
    }
    void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, opened.get(), 0);
    if (data == MAP_FAILED) return ErrnoStatus("mmap", path, errno);
    *file =
        std::make_unique<PosixMappedFile>(path, std::move(opened), static_cast<char*>(data), size);
    return Status::Ok();
  }

  Status Rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) == 0) return Status::Ok();
    return ErrnoStatus("rename", from + " to " + to, errno);
  }

  Status Remove(const std::string& path) override {
    return std::remove(path.c_str()) == 0 ? Status::Ok() : ErrnoStatus("remove", path, errno);
  }

  Status Truncate(const std::string& path, uint64_t size) override {
    const auto end = static_cast<off_t>(size);
    if (Uninterrupted([&] { return ::truncate(path.c_str(), end); }) == 0) return Status::Ok();
    return ErrnoStatus("truncate", path, errno);
  }

  Status PunchHole(const std::string& path, uint64_t offset, uint64_t length) override {
    const Descriptor file = Open(path, O_WRONLY);
    if (!file.open()) return ErrnoStatus("open", path, errno);
    // The kernel would zero the partial blocks at both ends.
    const uint64_t begin = (offset + kDirectAlignment - 1) / kDirectAlignment * kDirectAlignment;
    const uint64_t end = (offset + length) / kDirectAlignment * kDirectAlignment;
    if (begin >= end) return Status::Ok();
    const int punched = Uninterrupted([&] {
      return ::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                         static_cast<off_t>(begin), static_cast<off_t>(end - begin));
    });
    if (punched == 0) return Status::Ok();
    const int error = errno;
    Status status = ErrnoStatus("punch hole", path, begin, error);
    const bool unsupported = error == EOPNOTSUPP || error == ENOSYS;
    return unsupported ? Status::Unsupported(status.message()) : status;
  }

  Status CreateDirectory(const std::string& path) override {
    if (::mkdir(path.c_str(), kDirectoryMode) == 0) return Status::Ok();
    const int error = errno;
    struct stat about;
    const bool exists =
        error == EEXIST && ::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
    return exists ? Status::Ok() : ErrnoStatus("mkdir", path, error);
  }

  Status SyncDirectory(const std::string& path) override {
    const Descriptor directory = Open(path, O_RDONLY | O_DIRECTORY);
    if (!directory.open()) return ErrnoStatus("open", path, errno);
    if (Uninterrupted([&] { return ::fsync(directory.get()); }) == 0) return Status::Ok();
    return ErrnoStatus("fsync", path, errno);
  }

  Status List(const std::string& path, std::vector<std::string>* names) override {
    names->clear();
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), ::closedir);
    if (!directory) return ErrnoStatus("opendir", path, errno);
    errno = 0;
    while (const dirent* entry = ::readdir(directory.get())) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names->emplace_back(name);
    }
    return errno == 0 ? Status::Ok() : ErrnoStatus("readdir", path, errno);
  }

  Status Size(const std::string& path, uint64_t* size) override {
    struct stat about;
    if (::stat(path.c_str(), &about) != 0) return ErrnoStatus("stat", path, errno);
    *size = static_cast<uint64_t>(about.st_size);
    return Status::Ok();
  }

  bool Exists(const std::string& path) override { return ::access(path.c_str(), F_OK) == 0; }

  Status Lock(const std::string& path, std::unique_ptr<DirectoryLock>* lock) override {
    return LockDirectory(path, lock);
  }
  Status LockShared(const std::string& path, std::unique_ptr<DirectoryLock>* lock) override {
    return LockDirectoryShared(path, lock);
  }

 private:
  PosixReads reads_;
};

}  // namespace

FileSystem* FileSystem::Posix() {
  static auto* const files = new PosixFileSystem;
  return files;
}

}  // namespace kvdyno
