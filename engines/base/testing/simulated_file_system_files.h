// The files that a SimulatedFileSystem gives out. Each owns a share in the disk and, until the
// power goes, an open node; what it does happens under the disk's lock. Constructed with the lock
// held.
#pragma once

#include <memory>
#include <string>

#include "kvdyno/base/file_system.h"
#include "simulated_file_system_disk.h"

namespace kvdyno::testing {

class OpenNode {
 public:
  OpenNode(std::shared_ptr<SimulatedDisk> disk, NodePtr node, std::string path);
  ~OpenNode();
  OpenNode(const OpenNode&) = delete;
  OpenNode& operator=(const OpenNode&) = delete;

  const std::shared_ptr<SimulatedDisk> disk;
  const uint64_t power_on;
  const std::string path;
  NodePtr node;  // in use only while power_on lasts
};

class SimulatedRandomAccessFile final : public RandomAccessFile {
 public:
  SimulatedRandomAccessFile(std::shared_ptr<SimulatedDisk> disk, NodePtr node, std::string path,
                            bool direct);
  Status Read(uint64_t offset, size_t length, char* buffer, size_t* read) const override;
  uint64_t size() const override { return size_; }
  bool direct() const override { return direct_; }
  size_t alignment() const override { return direct_ ? Content::kSectorBytes : 1; }

 private:
  const OpenNode open_;
  const uint64_t size_;
  const bool direct_;
};

class SimulatedWritableFile final : public WritableFile {
 public:
  SimulatedWritableFile(std::shared_ptr<SimulatedDisk> disk, NodePtr node, std::string path,
                        bool direct);
  Status Append(std::string_view bytes) override;
  Status Sync() override;
  uint64_t size() const override { return size_; }

 private:
  Status AppendLocked(std::string_view bytes, bool last);

  const OpenNode open_;
  const bool direct_;
  uint64_t size_ = 0;
};

class SimulatedMappedFile final : public MappedFile {
 public:
  SimulatedMappedFile(std::shared_ptr<SimulatedDisk> disk, NodePtr node, std::string path);
  ~SimulatedMappedFile() override;
  char* data() override { return memory_.get(); }
  size_t size() const override { return size_; }
  Status Populate(size_t /*offset*/, size_t /*length*/) override { return Status::Ok(); }
  using MappedFile::Sync;
  Status Sync(size_t offset, size_t length) override;
  void Forget(size_t /*offset*/, size_t /*length*/) override {}
  void ReadAhead(size_t /*offset*/, size_t /*length*/) override {}
  size_t resident() const override { return 0; }

 private:
  const OpenNode open_;
  const size_t size_;
  // Lives on after the power is gone: stores must not crash.
  const std::shared_ptr<char[]> memory_;
};

class SimulatedLock final : public DirectoryLock {
 public:
  SimulatedLock(std::shared_ptr<SimulatedDisk> disk, NodePtr directory, bool shared);
  ~SimulatedLock() override;

 private:
  const std::shared_ptr<SimulatedDisk> disk_;
  const uint64_t power_on_;
  const NodePtr directory_;
  const bool shared_;
};

}  // namespace kvdyno::testing
