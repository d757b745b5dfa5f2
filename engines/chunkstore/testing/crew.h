// What the checkers of concurrency share: a store that is being reorganised all the time, threads
// that work on it, and the first violation of any of them. Safe from any thread where noted.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "chunkstore/store.h"
#include "hooks/moments.h"
#include "kvdyno/base/testing/fault_file_system.h"
#include "kvdyno/base/testing/simulated_file_system.h"
#include "testing/checkers.h"
#include "testing/data.h"

namespace chunkstore::testing {

class Crew {
 public:
  // `slow_one_in`: of so many reads of a slow disk one takes long.
  Crew(const char* test, uint64_t seed, uint64_t slow_one_in, const CheckOptions& check,
       Verdict* verdict)
      : test_(test), seed_(seed), verdict_(verdict), rng_(seed), disk_(seed), files_(&disk_) {
    options_ = RandomOptions(&rng_);
    // A durable acknowledgement on a real disk takes milliseconds.
    if (!check.directory.empty()) options_.durability = Durability::kAsync;
    options_.background_threads = check.background_threads;
    // Every other round, reads go to a disk that takes its time now and then, so that others write
    // and flush in the middle of them.
    if (seed % 2 == 1) {
      options_.munk_cache_size = options_.block_cache_size = 0;
      options_.row_cache_size = 256 << 10;
      files_.SetPlan([this, slow_one_in](const kvdyno::testing::Call& call) {
        if (call.name == "read" && Mix(call.number) % slow_one_in == 0) {
          std::this_thread::sleep_for(std::chrono::microseconds(Mix(call.number + seed_) % 2000));
        }
        return Status::Ok();
      });
    }
    HoldThreads(seed);
    if (check.directory.empty()) {
      options_.file_system = &files_;
    } else {
      scratch_ = std::make_unique<ScratchDirectory>(check.directory);
    }
  }

  bool Open() {
    const Status status = Store::Open(
        options_, scratch_ == nullptr ? "/store" : scratch_->path() + "/store", &store_);
    return Ok(status, "open");
  }
  // Runs the functions, each in a thread of its own, while another flushes and compacts.
  void Run(const std::vector<std::function<void()>>& work) {
    std::atomic<bool> done{false};
    std::thread housekeeper([&] {
      for (Rng rng(seed_ + 1); !done.load() && !stopped();) {
        const uint64_t dice = rng.Below(20);
        if (dice == 0) (void)Ok(store_->Compact(), "compact");
        if (dice < 8) (void)Ok(store_->Flush(), "flush");
        if (dice == 8) (void)Ok(store_->Checkpoint(), "checkpoint");
        std::this_thread::sleep_for(std::chrono::microseconds(rng.Skewed(5000)));
      }
    });
    std::vector<std::thread> threads;
    for (const auto& function : work) threads.emplace_back(function);
    for (std::thread& thread : threads) thread.join();
    done.store(true);
    housekeeper.join();
  }

  // --- from any thread
  Store* store() const { return store_.get(); }
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  void Fail(const std::string& what) {
    const std::lock_guard lock(mutex_);
    verdict_->Add(Violation(test_, seed_, what));
    stopped_.store(true);
  }
  bool Ok(const Status& status, const char* call) {
    if (!status.ok()) Fail(std::string(call) + ": expected ok, got " + status.ToString());
    return status.ok();
  }

  Rng* rng() { return &rng_; }  // one thread

 private:
  // In every other pair of rounds threads are held now and then where a test build can: what
  // happens once in hours, for lack of a processor, then happens all the time.
  static void HoldThreads(uint64_t seed) {
#ifdef CHUNKSTORE_SEEDED_BUGS
    at_moment = {};
    if (seed % 4 < 2) return;
    at_moment = [seed](Moment) {
      thread_local Rng rng(seed ^ Mix(std::hash<std::thread::id>()(std::this_thread::get_id())));
      if (rng.OneIn(300)) std::this_thread::sleep_for(std::chrono::microseconds(rng.Below(2000)));
    };
#else
    static_cast<void>(seed);
#endif
  }

  const char* const test_;
  const uint64_t seed_;
  Verdict* const verdict_;
  Rng rng_;
  kvdyno::testing::SimulatedFileSystem disk_;
  kvdyno::testing::FaultFileSystem files_;
  std::unique_ptr<ScratchDirectory> scratch_;
  Options options_;
  std::unique_ptr<Store> store_;
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
};

}  // namespace chunkstore::testing
