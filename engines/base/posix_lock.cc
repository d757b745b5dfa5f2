#include "posix_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <string_view>
#include <utility>

#include "posix_error.h"
#include "posix_files.h"

namespace kvdyno {
namespace {

constexpr mode_t kFileMode = 0644;

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
void TellHolder(const Descriptor& file) {
  const std::string text = std::to_string(::getpid()) + "\n";
  if (::ftruncate(file.get(), 0) != 0) return;
  [[maybe_unused]] const ssize_t told = ::pwrite(file.get(), text.data(), text.size(), 0);
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
  if (!read_only) TellHolder(file);
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
