// SimulatedFileSystem: files in memory that know what a disk would still hold after a power loss.
// Owns two worlds: what the process sees, and what is durable. Appends, mapped stores, creations,
// renames, removals, truncations and holes are unsynced until Sync, MappedFile::Sync or
// SyncDirectory make them durable. Deterministic: all choices come from the seed. Safe from any
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "kvdyno/base/file_system.h"

namespace kvdyno::testing {

// What a power loss does to each thing that was not synced, decided per 512-byte sector (data) or
// per change (directory), independently, so that later writes may survive earlier ones.
enum class Loss : uint8_t {
  kDropAll,  // nothing unsynced survives
  kKeepAll,  // everything does (as after kill -9)
  kRandom,   // each by a coin
  kTorn,     // by a coin, and the last surviving sector of a file may be cut within
};

class SimulatedDisk;

class SimulatedFileSystem final : public FileSystem {
 public:
  explicit SimulatedFileSystem(uint64_t seed);
  ~SimulatedFileSystem() override;

  // The power goes: files and mappings that were open answer with errors from now on (mapped stores
  // go nowhere), locks are gone, and what remains on disk is decided. May be called while other
  // threads are inside.
  void LosePower(Loss loss);
  // The same with the power going after `calls` more modifying calls (Append, Sync, Map, Rename,
  // …), of which the last may take effect in part; those after it fail with kIoError until Restart.
  void LosePowerAfter(uint64_t calls, Loss loss);
  bool power_lost() const;
  void Restart();  // power is back
  uint64_t modifying_calls() const;

  // A limit on all bytes stored; Append and Map beyond it: kNoSpace. UINT64_MAX: none.
  void SetCapacity(uint64_t bytes);
  void SetReadOnly(bool read_only);  // read-only media: every modifying call fails
  // For damage in tests.
  Status Flip(const std::string& path, uint64_t bit);

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
  Status TakeLock(const std::string& path, bool shared, std::unique_ptr<DirectoryLock>* lock);

  std::shared_ptr<SimulatedDisk> disk_;
};

}  // namespace kvdyno::testing
