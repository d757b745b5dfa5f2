// FileSystem: the only way in which a store of this project touches files, so that tests can
// lose power, fail or fill the disk at any call.
// Owns no policy: paths are plain strings, every error names the call, the file and errno's text.
// Safe from any thread; one file object's rules stand with its class.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kvdyno/base/status.h"

namespace kvdyno {

// What direct input/output asks of offsets, lengths and memory addresses, in bytes, at most: enough
// on every device.
inline constexpr size_t kDirectAlignment = 4096;

// Positional reads of a file that no longer grows. Safe from any thread.
class RandomAccessFile {
 public:
  virtual ~RandomAccessFile() = default;
  // Reads up to `length` bytes; *read is smaller only where the file ends. Offset, length and buffer
  // must be multiples of alignment().
  virtual Status Read(uint64_t offset, size_t length, char* buffer, size_t* read) const = 0;
  virtual uint64_t size() const = 0;
  virtual bool direct() const = 0;
  // Bytes, a power of two, which kDirectAlignment is a multiple of: the device's logical block with
  // direct input where the kernel reports it, else kDirectAlignment; 1 without direct input.
  virtual size_t alignment() const = 0;
};

// One of several reads that are asked for together: what RandomAccessFile::Read takes and answers.
struct FileRead {
  const RandomAccessFile* file = nullptr;
  uint64_t offset = 0;
  size_t length = 0;
  char* buffer = nullptr;
  size_t read = 0;
  Status status;
};

// Sequential writes. One thread at a time. Destroying it closes it without a sync.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  // With direct output, the bytes' address and length must be aligned. After an error the file's
  // content beyond the last successful Append is undefined.
  virtual Status Append(std::string_view bytes) = 0;
  // Content and size survive a power loss once this returns Ok; the directory entry needs
  // FileSystem::SyncDirectory. A failed Sync must not be tried again: the kernel may have dropped
  // the pages (PostgreSQL's lesson of 2018).
  virtual Status Sync() = 0;
  virtual uint64_t size() const = 0;
};

// A shared, writable mapping of a whole file of fixed size, whose blocks are allocated. What is
// stored in it survives the death of the process at once, and a power loss after Sync. Stores may
// be made from any thread; Sync as well.
class MappedFile {
 public:
  virtual ~MappedFile() = default;
  virtual char* data() = 0;
  virtual size_t size() const = 0;
  // Maps these bytes for writing. Fails if the file system has no block for them (a full one that
  // copies on write) or cannot read them, where a store would raise SIGBUS. Before Linux 5.14 it
  // checks nothing and returns Ok.
  virtual Status Populate(size_t offset, size_t length) = 0;
  // These bytes only, rounded outwards to whole pages: other dirty pages are not written.
  virtual Status Sync(size_t offset, size_t length) = 0;
  Status Sync() { return Sync(0, size()); }
  // Whole pages among these bytes may leave memory until they are used again, as far as they are on
  // disk; those that are not go there. A hint: nothing is lost, nothing is promised. Not while the
  // bytes are stored to.
  virtual void Forget(size_t offset, size_t length) = 0;
  // These bytes are used soon: what is not in memory is read, while the caller goes on. A hint.
  virtual void ReadAhead(size_t offset, size_t length) = 0;
  // Bytes of the file that are in memory; 0 where the system does not say.
  virtual size_t resident() const = 0;
};

// Held until destroyed; also released when the process dies.
class DirectoryLock {
 public:
  virtual ~DirectoryLock() = default;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // NotFound when there is no such file. Where `direct` is asked for and the file system has no
  // such thing, the file is opened buffered, with random-access advice (see direct()).
  virtual Status OpenForRead(const std::string& path, bool direct,
                             std::unique_ptr<RandomAccessFile>* file) = 0;
  // Reads of files that this opened, each as its Read would do it, several on the way at once where
  // the machine can. In turn unless overridden.
  virtual void ReadTogether(std::vector<FileRead>* reads);
  // Creates or empties. The same rule for `direct`; alignment is then asked for all the same.
  virtual Status Create(const std::string& path, bool direct,
                        std::unique_ptr<WritableFile>* file) = 0;
  // Maps an existing file of that size, or creates it, allocates its blocks and fills it with
  // zeros. InvalidArgument when it exists with another size.
  virtual Status Map(const std::string& path, size_t size, std::unique_ptr<MappedFile>* file) = 0;

  virtual Status Rename(const std::string& from, const std::string& to) = 0;
  virtual Status Remove(const std::string& path) = 0;  // a file, or an empty directory
  virtual Status Truncate(const std::string& path, uint64_t size) = 0;
  // Gives blocks back; reads of the range then yield zeros. Unsupported where the file system
  // cannot. Rounded inwards to whole blocks.
  virtual Status PunchHole(const std::string& path, uint64_t offset, uint64_t length) = 0;
  virtual Status CreateDirectory(const std::string& path) = 0;  // Ok if it exists
  // Renames, creations and removals in it survive a power loss.
  virtual Status SyncDirectory(const std::string& path) = 0;
  // Names without the path, unordered, without "." and "..".
  virtual Status List(const std::string& path, std::vector<std::string>* names) = 0;
  virtual Status Size(const std::string& path, uint64_t* size) = 0;
  virtual bool Exists(const std::string& path) = 0;
  // Busy, naming the holder's process where it is known, when another process or another store of
  // this process holds `path`/LOCK.
  virtual Status Lock(const std::string& path, std::unique_ptr<DirectoryLock>* lock) = 0;
  // A shared lock: Busy only while Lock is held. Creates nothing; *lock is null if there is no file
  // LOCK.
  virtual Status LockShared(const std::string& path, std::unique_ptr<DirectoryLock>* lock) = 0;

  // The machine's own; never destroyed.
  static FileSystem* Posix();
};

// Conveniences over the interface.
Status ReadWholeFile(FileSystem* files, const std::string& path, std::string* content);
// The entry of a directory itself survives a power loss.
Status SyncParent(FileSystem* files, const std::string& directory);
// Writes `path`.new, syncs it, renames it over `path` and syncs the directory: the old content or
// the new, never a mixture.
Status ReplaceFile(FileSystem* files, const std::string& directory, const std::string& name,
                   std::string_view content);

// Memory aligned for direct input/output; not initialised. Movable, owns its bytes.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(size_t size);
  char* data() { return data_.get(); }
  const char* data() const { return data_.get(); }
  size_t size() const { return size_; }

 private:
  struct Free {
    size_t capacity;
    void operator()(char* data) const;
  };
  std::unique_ptr<char[], Free> data_{nullptr, Free{0}};
  size_t size_ = 0;
};

// While it exists, large AlignedBuffers that its thread gives up serve that thread's next ones, which
// saves a fault for each page. Keeps at most kMost bytes. Such scopes do not nest.
class BufferReuse {
 public:
  static constexpr size_t kMost = size_t{4} << 20;
  BufferReuse();
  ~BufferReuse();
  BufferReuse(const BufferReuse&) = delete;
  BufferReuse& operator=(const BufferReuse&) = delete;
};

}  // namespace kvdyno
