#include "snapshot.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace kvdyno::memory {

namespace {

// The format: magic, number of entries, then per entry key length, key, value length, value;
// numbers are 8 bytes in the machine's order; the magic again at the end, so that a file cut
// at an entry's border is noticed.
constexpr std::string_view kMagic = "kvdyno.memory/1\n";

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

Status SystemError(std::string_view operation, const std::string& path) {
  return Status::IoError(std::string(operation) + " " + path + ": " + std::strerror(errno));
}

bool PutBytes(std::FILE* file, std::string_view bytes) {
  return std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
}

bool PutNumber(std::FILE* file, uint64_t number) {
  return std::fwrite(&number, sizeof number, 1, file) == 1;
}

bool PutString(std::FILE* file, std::string_view bytes) {
  return PutNumber(file, bytes.size()) && PutBytes(file, bytes);
}

bool GetNumber(std::FILE* file, uint64_t* number) {
  return std::fread(number, sizeof *number, 1, file) == 1;
}

// `remaining` bounds the length, so that a damaged one cannot ask for all memory.
bool GetString(std::FILE* file, uint64_t* remaining, std::string* bytes) {
  uint64_t length = 0;
  if (!GetNumber(file, &length) || length > *remaining) return false;
  *remaining -= length;
  bytes->resize(length);
  return std::fread(bytes->data(), 1, length, file) == length;
}

bool GetMagic(std::FILE* file) {
  std::string found(kMagic.size(), '\0');
  return std::fread(found.data(), 1, found.size(), file) == found.size() && found == kMagic;
}

bool GetEntries(std::FILE* file, uint64_t remaining, Map* map) {
  uint64_t count = 0;
  if (!GetMagic(file) || !GetNumber(file, &count)) return false;
  for (uint64_t i = 0; i < count; i++) {
    std::string key, value;
    if (!GetString(file, &remaining, &key) || !GetString(file, &remaining, &value)) return false;
    map->emplace_hint(map->end(), std::move(key), std::move(value));
  }
  return map->size() == count && GetMagic(file) && std::fgetc(file) == EOF && !std::ferror(file);
}

bool PutEntries(std::FILE* file, const Map& map) {
  if (!PutBytes(file, kMagic) || !PutNumber(file, map.size())) return false;
  for (const auto& [key, value] : map) {
    if (!PutString(file, key) || !PutString(file, value)) return false;
  }
  return PutBytes(file, kMagic) && std::fflush(file) == 0 && fsync(fileno(file)) == 0;
}

std::string SnapshotPath(const std::string& directory) { return directory + "/memory.snapshot"; }

}  // namespace

DirectoryLock::DirectoryLock(DirectoryLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

DirectoryLock& DirectoryLock::operator=(DirectoryLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

DirectoryLock::~DirectoryLock() {
  if (fd_ >= 0) close(fd_);
}

Status DirectoryLock::Acquire(const std::string& directory) {
  const std::string path = directory + "/LOCK";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return SystemError("open", path);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    close(fd);
    return Status::Busy("lock " + path + ": another store has this directory open");
  }
  fd_ = fd;
  return Status::Ok();
}

Status ReadSnapshot(const std::string& directory, Map* map) {
  const std::string path = SnapshotPath(directory);
  const File file(std::fopen(path.c_str(), "rbe"));
  if (!file) return errno == ENOENT ? Status::Ok() : SystemError("open", path);
  if (std::fseek(file.get(), 0, SEEK_END) != 0) return SystemError("seek", path);
  const long size = std::ftell(file.get());
  if (size < 0 || std::fseek(file.get(), 0, SEEK_SET) != 0) return SystemError("seek", path);
  if (GetEntries(file.get(), static_cast<uint64_t>(size), map)) return Status::Ok();
  map->clear();
  if (std::ferror(file.get())) return SystemError("read", path);
  return Status::Corruption("read " + path + ": expected a whole snapshot, got " +
                            std::to_string(size) + " damaged bytes");
}

Status WriteSnapshot(const std::string& directory, const Map& map) {
  const std::string path = SnapshotPath(directory);
  const std::string unfinished = path + ".new";
  File file(std::fopen(unfinished.c_str(), "wbe"));
  if (!file) return SystemError("create", unfinished);
  if (!PutEntries(file.get(), map)) return SystemError("write", unfinished);
  if (std::fclose(file.release()) != 0) return SystemError("close", unfinished);
  if (std::rename(unfinished.c_str(), path.c_str()) != 0) return SystemError("rename", unfinished);
  return Status::Ok();
}

}  // namespace kvdyno::memory
