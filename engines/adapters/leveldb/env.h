// LevelDB's environment with three additions: tables are opened with random-access advice (only
// background work reads ahead), background work can be waited for, and written bytes are counted.
// Knows files and scheduled functions, not what is in them. Safe from any thread; it must outlive
// the store that uses it.
#pragma once

#include <leveldb/env.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>

namespace kvdyno::level {

class Env final : public leveldb::EnvWrapper {
 public:
  // At most `mapped_files` open tables are mapped at a time; others are read by pread.
  explicit Env(int64_t mapped_files);
  ~Env() override;

  // Returns when nothing that LevelDB has scheduled is left. LevelDB schedules follow-up work
  // before the current one ends, so that a chain of compactions is waited for to its end.
  void WaitForBackgroundWork();

  uint64_t log_bytes() const { return log_bytes_.load(std::memory_order_relaxed); }
  uint64_t table_bytes() const { return table_bytes_.load(std::memory_order_relaxed); }

  leveldb::Status NewRandomAccessFile(const std::string& name,
                                      leveldb::RandomAccessFile** result) override;
  leveldb::Status NewWritableFile(const std::string& name, leveldb::WritableFile** result) override;
  void Schedule(void (*function)(void*), void* argument) override;

 private:
  struct Work;
  static void Run(void* work);

  std::atomic<int64_t> maps_left_;
  std::atomic<uint64_t> log_bytes_ = 0;
  std::atomic<uint64_t> table_bytes_ = 0;

  std::mutex mutex_;
  std::condition_variable idle_;
  uint64_t scheduled_ = 0;  // and not finished; guarded by mutex_
};

}  // namespace kvdyno::level
