// Crew: a fixed set of threads that do one job together, again and again.
// Owns the threads; knows nothing of the jobs. The same thread always has the same number, so
// that an engine's session stays with one thread for the whole run.
// Used by one thread. Everything that a job wrote is visible when Run returns.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace kvdyno {

class Crew {
 public:
  explicit Crew(uint64_t size);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Calls job(0) .. job(size - 1), each on its own thread, and returns when all have returned.
  void Run(const std::function<void(uint64_t)>& job);

 private:
  void Work(uint64_t number);

  std::mutex mutex_;
  std::condition_variable started_;
  std::condition_variable finished_;
  const std::function<void(uint64_t)>* job_ = nullptr;  // guarded by mutex_, as the rest
  uint64_t generation_ = 0;
  uint64_t busy_ = 0;
  bool dismissed_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace kvdyno
