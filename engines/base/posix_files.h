// The POSIX file system's open files, for reading, for writing, mapped; the lock on a directory;
// what an errno of theirs means to a store. Owns descriptors and mappings; knows nothing of names
// beyond its messages. Thread safety: as the interfaces in file_system.h say.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "kvdyno/base/file_system.h"
#include "kvdyno/base/status.h"

namespace kvdyno {

// "pread /x/12.seg at offset 4096: Input/output error".
Status ErrnoStatus(std::string_view call, const std::string& path, int error);
Status ErrnoStatus(std::string_view call, const std::string& path, uint64_t offset, int error);

// Repeats a system call that a signal interrupted.
template <typename Call>
auto Uninterrupted(const Call& call) {
  decltype(call()) result;
  do {
    result = call();
  } while (result == -1 && errno == EINTR);
  return result;
}

// A file descriptor; closed when destroyed.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const { return number_; }
  bool open() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

// Opens with O_DIRECT where *direct asks for it, or without, with *direct cleared, where the file
// system has no such thing. Not open on failure; errno has the reason.
Descriptor OpenMaybeDirect(const std::string& path, int flags, bool* direct);
// What direct input from the file asks for, as RandomAccessFile::alignment().
size_t DirectAlignmentOf(const Descriptor& file);

class PosixRandomAccessFile final : public RandomAccessFile {
 public:
  // `alignment`: of direct reads.
  PosixRandomAccessFile(std::string path, Descriptor file, uint64_t size, bool direct,
                        size_t alignment);
  Status Read(uint64_t offset, size_t length, char* buffer, size_t* read) const override;
  uint64_t size() const override { return size_; }
  bool direct() const override { return direct_.load(std::memory_order_relaxed); }
  size_t alignment() const override { return direct() ? alignment_ : 1; }
  int descriptor() const { return file_.get(); }

 private:
  const std::string path_;
  const Descriptor file_;
  const uint64_t size_;
  const size_t alignment_;
  // Cleared by the first read that turns out to be impossible directly.
  mutable std::atomic<bool> direct_;
};

class PosixWritableFile final : public WritableFile {
 public:
  // `aligned`: whether alignment is asked of appends, be the output direct or not.
  PosixWritableFile(std::string path, Descriptor file, bool aligned, bool direct);
  Status Append(std::string_view bytes) override;
  Status Sync() override;
  uint64_t size() const override { return size_; }

 private:
  const std::string path_;
  const Descriptor file_;
  const bool aligned_;
  bool direct_;
  bool sync_failed_ = false;
  uint64_t size_ = 0;
};

class PosixMappedFile final : public MappedFile {
 public:
  // Takes a mapping of the whole file over.
  PosixMappedFile(std::string path, Descriptor file, char* data, size_t size);
  ~PosixMappedFile() override;
  char* data() override { return data_; }
  size_t size() const override { return size_; }
  Status Populate(size_t offset, size_t length) override;
  Status Sync(size_t offset, size_t length) override;
  void Forget(size_t offset, size_t length) override;
  void ReadAhead(size_t offset, size_t length) override;
  size_t resident() const override;

 private:
  const std::string path_;
  const Descriptor file_;
  char* const data_;
  const size_t size_;
  std::atomic<bool> sync_failed_ = false;
};

// Allocates all blocks of a new, empty file, which then has `size` bytes of zeros.
Status AllocateZeros(const std::string& path, const Descriptor& file, size_t size);
// Allocates what blocks an existing file lacks; its content stays.
Status AllocateHoles(const std::string& path, const Descriptor& file, size_t size);

// The lock is flock on the directory's file LOCK, in which the holder's process id stands.
// Busy when any other open of the file holds it, of this process or another.
Status LockDirectory(const std::string& directory, std::unique_ptr<DirectoryLock>* lock);
// Busy when it is held exclusively. Null if there is no file.
Status LockDirectoryShared(const std::string& directory, std::unique_ptr<DirectoryLock>* lock);

}  // namespace kvdyno
