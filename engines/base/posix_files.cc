#include "posix_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <system_error>
#include <vector>

namespace kvdyno {
namespace {

constexpr mode_t kFileMode = 0644;
constexpr size_t kZerosAtOnce = size_t{1} << 20;

Code Meaning(int error) {
  switch (error) {
    case ENOENT:
      return Code::kNotFound;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return Code::kNoSpace;
    case EROFS:
      return Code::kReadOnly;
    default:
      return Code::kIoError;
  }
}

// Offset, length and address.
bool Aligned(uint64_t offset, size_t length, const char* address, size_t alignment) {
  return (offset | length | reinterpret_cast<uintptr_t>(address)) % alignment == 0;
}
size_t AlignedDown(size_t value, size_t alignment) { return value - value % alignment; }

Status Misaligned(std::string_view call, const std::string& path, uint64_t offset, size_t length,
                  size_t alignment) {
  return Status::InvalidArgument(std::string(call) + " " + path +
                                 ": expected offset, length and address aligned to " +
                                 std::to_string(alignment) + ", got offset " +
                                 std::to_string(offset) + ", length " + std::to_string(length));
}

// Some file systems accept O_DIRECT and then refuse every transfer.
bool StopDirect(const Descriptor& file) {
  const int flags = ::fcntl(file.get(), F_GETFL);
  return flags != -1 && ::fcntl(file.get(), F_SETFL, flags & ~O_DIRECT) == 0;
}

// Retrying a failed sync could report success for pages that the kernel has dropped.
Status SyncFailedBefore(const std::string& path) {
  return Status::IoError("sync " + path + ": expected a file without a failed sync before");
}

class PosixDirectoryLock final : public DirectoryLock {
 public:
  explicit PosixDirectoryLock(Descriptor file) : file_(std::move(file)), owner_(::getpid()) {}
  // A forked child shares the lock: its copy must not release it, and the owner's release must not
  // wait for the child.
  ~PosixDirectoryLock() override {
    if (::getpid() == owner_) ::flock(file_.get(), LOCK_UN);
  }

 private:
  const Descriptor file_;
  const pid_t owner_;
};

// The process id in the file, or a phrase if there is none.
std::string Holder(const Descriptor& file) {
  char text[24];
  const ssize_t length = ::pread(file.get(), text, sizeof text, 0);
  const std::string_view all(text, length > 0 ? static_cast<size_t>(length) : 0);
  const std::string_view digits = all.substr(0, all.find('\n'));
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
    return "another process";
  }
  const std::string holder = "process " + std::string(digits);
  return digits == std::to_string(::getpid()) ? "this same " + holder : holder;
}

// For messages only: a full disk must not keep a store from being opened.
void NameHolder(const Descriptor& file) {
  const std::string text = std::to_string(::getpid()) + "\n";
  if (::ftruncate(file.get(), 0) != 0) return;
  [[maybe_unused]] const ssize_t written = ::pwrite(file.get(), text.data(), text.size(), 0);
}

// False with errno.
bool TryLock(const Descriptor& file, int operation) {
  return Uninterrupted([&] { return ::flock(file.get(), operation | LOCK_NB); }) == 0;
}

Descriptor OpenLock(const std::string& path, int flags) {
  return Descriptor(
      Uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, kFileMode); }));
}

}  // namespace

Status ErrnoStatus(std::string_view call, const std::string& path, int error) {
  std::string message(call);
  message.append(" ").append(path).append(": ");
  message.append(std::generic_category().message(error));
  return {Meaning(error), std::move(message)};
}

Status ErrnoStatus(std::string_view call, const std::string& path, uint64_t offset, int error) {
  return ErrnoStatus(call, path + " at offset " + std::to_string(offset), error);
}

Descriptor OpenMaybeDirect(const std::string& path, int flags, bool* direct) {
  const auto open = [&](int extra) {
    return Descriptor(
        Uninterrupted([&] { return ::open(path.c_str(), flags | extra | O_CLOEXEC, kFileMode); }));
  };
  if (*direct) {
    Descriptor file = open(O_DIRECT);
    if (file.open() || errno != EINVAL) return file;
    *direct = false;
  }
  return open(0);
}

// A page of the file system is no measure: a device of 512-byte blocks reads seven of them as well,
// where the blocks of a table lie in two pages. Only the kernel knows what lies below the file.
size_t DirectAlignmentOf(const Descriptor& file) {
#ifdef STATX_DIOALIGN
  struct statx asked = {};
  if (::statx(file.get(), "", AT_EMPTY_PATH, STATX_DIOALIGN, &asked) == 0 &&
      (asked.stx_mask & STATX_DIOALIGN) != 0) {
    const size_t alignment = std::max(asked.stx_dio_mem_align, asked.stx_dio_offset_align);
    if (std::has_single_bit(alignment) && alignment <= kDirectAlignment) return alignment;
  }
#else
  static_cast<void>(file);
#endif
  return kDirectAlignment;
}

PosixRandomAccessFile::PosixRandomAccessFile(std::string path, Descriptor file, uint64_t size,
                                             bool direct, size_t alignment)
    : path_(std::move(path)),
      file_(std::move(file)),
      size_(size),
      alignment_(alignment),
      direct_(direct) {
  if (!direct) ::posix_fadvise(file_.get(), 0, 0, POSIX_FADV_RANDOM);
}

Status PosixRandomAccessFile::Read(uint64_t offset, size_t length, char* buffer,
                                   size_t* read) const {
  *read = 0;
  bool as_direct = direct();
  if (as_direct && !Aligned(offset, length, buffer, alignment_)) {
    return Misaligned("read", path_, offset, length, alignment_);
  }
  size_t done = 0;
  while (done < length) {
    const ssize_t got = Uninterrupted([&] {
      return ::pread(file_.get(), buffer + done, length - done, static_cast<off_t>(offset + done));
    });
    if (got < 0 && errno == EINVAL && as_direct && StopDirect(file_)) {
      as_direct = false;
      direct_.store(false, std::memory_order_relaxed);
      ::posix_fadvise(file_.get(), 0, 0, POSIX_FADV_RANDOM);
      continue;
    }
    if (got < 0) return ErrnoStatus("pread", path_, offset + done, errno);
    const size_t reached = done + static_cast<size_t>(got);
    // A direct read goes on at an aligned place; one that brings less than a block has met the end.
    const bool ends = got == 0 || offset + reached >= size_ ||
                      (as_direct && AlignedDown(reached, alignment_) == done);
    done = as_direct && !ends ? AlignedDown(reached, alignment_) : reached;
    if (ends) break;
  }
  *read = done;
  return Status::Ok();
}

PosixWritableFile::PosixWritableFile(std::string path, Descriptor file, bool aligned, bool direct)
    : path_(std::move(path)), file_(std::move(file)), aligned_(aligned), direct_(direct) {}

Status PosixWritableFile::Append(std::string_view bytes) {
  if (aligned_ && !Aligned(0, bytes.size(), bytes.data(), kDirectAlignment)) {
    return Misaligned("append", path_, size_, bytes.size(), kDirectAlignment);
  }
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t put = Uninterrupted([&] {
      return ::pwrite(file_.get(), bytes.data() + done, bytes.size() - done,
                      static_cast<off_t>(size_ + done));
    });
    if (put < 0 && errno == EINVAL && direct_ && StopDirect(file_)) {
      direct_ = false;
      continue;
    }
    if (put < 0) return ErrnoStatus("pwrite", path_, size_ + done, errno);
    const size_t reached = done + static_cast<size_t>(put);
    const size_t next =
        direct_ && reached < bytes.size() ? AlignedDown(reached, kDirectAlignment) : reached;
    if (next == done) {
      return Status::IoError("pwrite " + path_ + " at offset " + std::to_string(size_ + done) +
                             ": expected " + std::to_string(bytes.size() - done) +
                             " bytes, wrote " + std::to_string(put));
    }
    done = next;
  }
  size_ += done;
  return Status::Ok();
}

Status PosixWritableFile::Sync() {
  if (sync_failed_) return SyncFailedBefore(path_);
  if (Uninterrupted([&] { return ::fdatasync(file_.get()); }) == 0) return Status::Ok();
  sync_failed_ = true;
  return ErrnoStatus("fdatasync", path_, errno);
}

PosixMappedFile::PosixMappedFile(std::string path, Descriptor file, char* data, size_t size)
    : path_(std::move(path)), file_(std::move(file)), data_(data), size_(size) {}

PosixMappedFile::~PosixMappedFile() { ::munmap(data_, size_); }

Status PosixMappedFile::Populate(size_t offset, size_t length) {
#ifdef MADV_POPULATE_WRITE
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t from = offset / page * page;
  const size_t to = std::min(size_, offset + length);
  const int done =
      Uninterrupted([&] { return ::madvise(data_ + from, to - from, MADV_POPULATE_WRITE); });
  // EFAULT: a store would have raised SIGBUS.
  if (done != 0 && errno == EFAULT) {
    return Status::IoError("populate " + path_ + " at " + std::to_string(offset) + ": expected " +
                           std::to_string(length) +
                           " bytes that can be stored to, got none: is the file system full, or "
                           "its medium damaged?");
  }
  if (done != 0 && errno != EINVAL) return ErrnoStatus("populate", path_, errno);
#else
  static_cast<void>(offset);
  static_cast<void>(length);
#endif
  return Status::Ok();
}

Status PosixMappedFile::Sync(size_t offset, size_t length) {
  if (sync_failed_.load()) return SyncFailedBefore(path_);
  static const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t begin = offset - offset % page;
  const size_t end = std::min(offset + length, size_);
  if (begin >= end) return Status::Ok();
  if (Uninterrupted([&] { return ::msync(data_ + begin, end - begin, MS_SYNC); }) == 0) {
    return Status::Ok();
  }
  const int error = errno;
  sync_failed_.store(true);
  return ErrnoStatus("msync", path_, begin, error);
}

// The mapping lets go first: the kernel keeps what is mapped.
void PosixMappedFile::Forget(size_t offset, size_t length) {
  static const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t begin = (offset + page - 1) / page * page;
  const size_t end = std::min(offset + length, size_) / page * page;
  if (begin >= end) return;
  ::madvise(data_ + begin, end - begin, MADV_DONTNEED);
  ::posix_fadvise(file_.get(), static_cast<off_t>(begin), static_cast<off_t>(end - begin),
                  POSIX_FADV_DONTNEED);
}

void PosixMappedFile::ReadAhead(size_t offset, size_t length) {
  const size_t end = std::min(offset + length, size_);
  if (offset >= end) return;
  ::posix_fadvise(file_.get(), static_cast<off_t>(offset), static_cast<off_t>(end - offset),
                  POSIX_FADV_WILLNEED);
}

size_t PosixMappedFile::resident() const {
  static const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((size_ + page - 1) / page);
  if (::mincore(data_, size_, pages.data()) != 0) return 0;
  const auto in_memory = [](unsigned char state) { return (state & 1) != 0; };
  return page * static_cast<size_t>(std::count_if(pages.begin(), pages.end(), in_memory));
}

Status AllocateZeros(const std::string& path, const Descriptor& file, size_t size) {
  const auto end = static_cast<off_t>(size);
  if (Uninterrupted([&] { return ::fallocate(file.get(), 0, 0, end); }) == 0) return Status::Ok();
  if (errno != EOPNOTSUPP && errno != ENOSYS) return ErrnoStatus("fallocate", path, errno);
  const std::vector<char> zeros(std::min(size, kZerosAtOnce));
  for (size_t done = 0; done < size;) {
    const size_t length = std::min(zeros.size(), size - done);
    const ssize_t put = Uninterrupted(
        [&] { return ::pwrite(file.get(), zeros.data(), length, static_cast<off_t>(done)); });
    if (put <= 0) return ErrnoStatus("pwrite", path, done, put < 0 ? errno : EIO);
    done += static_cast<size_t>(put);
  }
  return Status::Ok();
}

Status AllocateHoles(const std::string& path, const Descriptor& file, size_t size) {
  const auto end = static_cast<off_t>(size);
  if (Uninterrupted([&] { return ::fallocate(file.get(), 0, 0, end); }) == 0) return Status::Ok();
  // Where this is unsupported, creation has written every block.
  if (errno == EOPNOTSUPP || errno == ENOSYS) return Status::Ok();
  return ErrnoStatus("fallocate", path, errno);
}

Status LockDirectory(const std::string& directory, std::unique_ptr<DirectoryLock>* lock) {
  const std::string path = directory + "/LOCK";
  Descriptor file = OpenLock(path, O_RDWR | O_CREAT);
  // Read-only media: an existing file can be locked all the same.
  const bool read_only = !file.open() && errno == EROFS;
  if (read_only) file = OpenLock(path, O_RDONLY);
  if (!file.open()) return ErrnoStatus("open", path, read_only ? EROFS : errno);
  if (!TryLock(file, LOCK_EX)) {
    if (errno != EWOULDBLOCK) return ErrnoStatus("flock", path, errno);
    const std::string user = TryLock(file, LOCK_SH) ? "a reader" : Holder(file);
    return Status::Busy("lock " + path + ": expected no other user, got " + user);
  }
  if (!read_only) NameHolder(file);
  *lock = std::make_unique<PosixDirectoryLock>(std::move(file));
  return Status::Ok();
}

Status LockDirectoryShared(const std::string& directory, std::unique_ptr<DirectoryLock>* lock) {
  const std::string path = directory + "/LOCK";
  Descriptor file = OpenLock(path, O_RDONLY);
  if (!file.open() && errno == ENOENT) {
    lock->reset();
    return Status::Ok();
  }
  if (!file.open()) return ErrnoStatus("open", path, errno);
  if (!TryLock(file, LOCK_SH)) {
    if (errno != EWOULDBLOCK) return ErrnoStatus("flock", path, errno);
    return Status::Busy("lock " + path + ": expected no writer, got " + Holder(file));
  }
  *lock = std::make_unique<PosixDirectoryLock>(std::move(file));
  return Status::Ok();
}

}  // namespace kvdyno
