// FaultFileSystem: another file system's calls, of which chosen ones fail.
// Owns a count of calls and a plan; the files are the other's. Safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "kvdyno/base/file_system.h"

namespace kvdyno::testing {

// One call, as a plan sees it: "read", "append", "sync", "map", "sync mapping", "open", "create",
// "rename" (the path is the old one), "remove", "truncate", "punch", "sync directory", "list",
// "size", "lock", "mkdir". Exists has no status to fail with: it is not counted.
struct Call {
  std::string name;
  std::string path;
  uint64_t number = 0;  // of all calls, from 0
};

class FaultFileSystem final : public FileSystem {
 public:
  // Not owned; must outlive this and all files.
  explicit FaultFileSystem(FileSystem* base);
  ~FaultFileSystem() override;

  // Asked before each call; anything but Ok is what the call returns, without reaching the base.
  // An append may also be cut short: see WritePartially. Asked by several threads at once where
  // several threads call. SetPlan, FailCall and FailFrom each replace what was planned before.
  using Plan = std::function<Status(const Call&)>;
  void SetPlan(Plan plan);                        // null: nothing fails
  void FailCall(uint64_t number, Status status);  // this one call, and all later ones work
  void FailFrom(uint64_t number, Status status);  // this call and all later ones
  void WritePartially(bool partial);  // a failing append writes its first half all the same
  uint64_t calls() const;

  // --- FileSystem
  Status OpenForRead(const std::string& path, bool direct,
                     std::unique_ptr<RandomAccessFile>* file) override;
  Status Create(const std::string& path, bool direct, std::unique_ptr<WritableFile>* file) override;
  Status Map(const std::string& path, size_t size, std::unique_ptr<MappedFile>* file) override;
  Status Rename(const std::string& from, const std::string& to) override;
  Status Remove(const std::string& path) override;
  Status Truncate(const std::string& path, uint64_t size) override;
  Status PunchHole(const std::string& path, uint64_t offset, uint64_t length) override;
  Status CreateDirectory(const std::string& path) override;
  Status SyncDirectory(const std::string& path) override;
  Status List(const std::string& path, std::vector<std::string>* names) override;
  Status Size(const std::string& path, uint64_t* size) override;
  bool Exists(const std::string& path) override;
  Status Lock(const std::string& path, std::unique_ptr<DirectoryLock>* lock) override;
  Status LockShared(const std::string& path, std::unique_ptr<DirectoryLock>* lock) override;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace kvdyno::testing
