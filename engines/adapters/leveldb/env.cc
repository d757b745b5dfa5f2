#include "env.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "readahead.h"

namespace kvdyno::level {

namespace {

leveldb::Status SystemError(const std::string& name, int error) {
  if (error == ENOENT) return leveldb::Status::NotFound(name, std::strerror(error));
  return leveldb::Status::IOError(name, std::strerror(error));
}

class MappedFile final : public leveldb::RandomAccessFile {
 public:
  // Takes over the mapping and one of `maps_left`, which it gives back.
  MappedFile(std::string name, void* base, size_t size, std::atomic<int64_t>* maps_left)
      : name_(std::move(name)),
        base_(static_cast<char*>(base)),
        size_(size),
        maps_left_(*maps_left),
        readahead_(size) {}

  ~MappedFile() override {
    munmap(base_, size_);
    maps_left_.fetch_add(1, std::memory_order_relaxed);
  }

  leveldb::Status Read(uint64_t offset, size_t size, leveldb::Slice* result, char*) const override {
    if (offset > size_ || size > size_ - offset) return SystemError(name_, EINVAL);
    const Stretch ahead = readahead_.Before(offset, size);
    if (ahead.size > 0) madvise(base_ + ahead.start, ahead.size, MADV_WILLNEED);
    *result = leveldb::Slice(base_ + offset, size);
    return leveldb::Status::OK();
  }

 private:
  const std::string name_;
  char* const base_;
  const size_t size_;
  std::atomic<int64_t>& maps_left_;
  mutable Readahead readahead_;
};

class PositionedFile final : public leveldb::RandomAccessFile {
 public:
  PositionedFile(std::string name, int fd, size_t size)
      : name_(std::move(name)), fd_(fd), readahead_(size) {}
  ~PositionedFile() override { close(fd_); }

  leveldb::Status Read(uint64_t offset, size_t size, leveldb::Slice* result,
                       char* scratch) const override {
    const Stretch ahead = readahead_.Before(offset, size);
    if (ahead.size > 0) {
      posix_fadvise(fd_, static_cast<off_t>(ahead.start), static_cast<off_t>(ahead.size),
                    POSIX_FADV_WILLNEED);
    }
    const ssize_t got = pread(fd_, scratch, size, static_cast<off_t>(offset));
    if (got < 0) return SystemError(name_, errno);
    *result = leveldb::Slice(scratch, static_cast<size_t>(got));
    return leveldb::Status::OK();
  }

 private:
  const std::string name_;
  const int fd_;
  mutable Readahead readahead_;
};

// Adds what is appended to a counter.
class CountedFile final : public leveldb::WritableFile {
 public:
  CountedFile(leveldb::WritableFile* file, std::atomic<uint64_t>* bytes)
      : file_(file), bytes_(*bytes) {}

  leveldb::Status Append(const leveldb::Slice& data) override {
    bytes_.fetch_add(data.size(), std::memory_order_relaxed);
    return file_->Append(data);
  }
  leveldb::Status Close() override { return file_->Close(); }
  leveldb::Status Flush() override { return file_->Flush(); }
  leveldb::Status Sync() override { return file_->Sync(); }

 private:
  const std::unique_ptr<leveldb::WritableFile> file_;
  std::atomic<uint64_t>& bytes_;
};

// The mapping of a whole file with random-access advice, or null where it cannot be mapped.
void* MapWhole(int fd, size_t size) {
  if (size == 0) return nullptr;
  void* base = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) return nullptr;
  madvise(base, size, MADV_RANDOM);
  return base;
}

}  // namespace

struct Env::Work {
  Env* env;
  void (*function)(void*);
  void* argument;
};

Env::Env(int64_t mapped_files) : EnvWrapper(leveldb::Env::Default()), maps_left_(mapped_files) {}

// The store is gone once its last work has signalled it, which is before Run has returned.
Env::~Env() { WaitForBackgroundWork(); }

void Env::WaitForBackgroundWork() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return scheduled_ == 0; });
}

void Env::Schedule(void (*function)(void*), void* argument) {
  {
    const std::lock_guard lock(mutex_);
    scheduled_++;
  }
  EnvWrapper::Schedule(&Env::Run, std::make_unique<Work>(Work{this, function, argument}).release());
}

void Env::Run(void* raw_work) {
  const std::unique_ptr<Work> work(static_cast<Work*>(raw_work));
  {
    const BackgroundWork mark;
    work->function(work->argument);
  }
  // Notified under the lock: the environment may be gone as soon as it is released.
  const std::lock_guard lock(work->env->mutex_);
  if (--work->env->scheduled_ == 0) work->env->idle_.notify_all();
}

leveldb::Status Env::NewRandomAccessFile(const std::string& name,
                                         leveldb::RandomAccessFile** result) {
  *result = nullptr;
  const int fd = open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return SystemError(name, errno);
  struct stat about;
  if (fstat(fd, &about) != 0) {
    const int error = errno;
    close(fd);
    return SystemError(name, error);
  }
  const auto size = static_cast<size_t>(about.st_size);
  if (maps_left_.fetch_sub(1, std::memory_order_relaxed) > 0) {
    if (void* base = MapWhole(fd, size)) {
      close(fd);
      *result = std::make_unique<MappedFile>(name, base, size, &maps_left_).release();
      return leveldb::Status::OK();
    }
  }
  maps_left_.fetch_add(1, std::memory_order_relaxed);
  posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
  *result = std::make_unique<PositionedFile>(name, fd, size).release();
  return leveldb::Status::OK();
}

leveldb::Status Env::NewWritableFile(const std::string& name, leveldb::WritableFile** result) {
  const leveldb::Status created = EnvWrapper::NewWritableFile(name, result);
  if (!created.ok()) return created;
  const bool log = std::string_view(name).ends_with(".log");
  const bool table = std::string_view(name).ends_with(".ldb");
  if (!log && !table) return created;
  *result = std::make_unique<CountedFile>(*result, log ? &log_bytes_ : &table_bytes_).release();
  return created;
}

}  // namespace kvdyno::level
