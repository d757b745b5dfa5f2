// CheckKill: a child process writes with several threads until it is killed; the parent reopens.
// Operation n of thread t is a function of seed, t and n, so that the parent can replay what the
// child did; the child reports its progress through shared memory.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>

#include "testing/checkers.h"
#include "testing/history.h"

namespace chunkstore::testing {
namespace {

constexpr size_t kMostThreads = 16;
constexpr size_t kKeysPerThread = 500;

// What the child reports; one cache line a thread. Plain memory shared by fork.
struct Progress {
  struct alignas(64) Line {
    std::atomic<uint64_t> issued;
    std::atomic<uint64_t> acknowledged;
  };
  Line threads[kMostThreads];
  std::atomic<bool> failed;
  char message[1000];
};

class SharedProgress {
 public:
  SharedProgress()
      : memory_(::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {}
  ~SharedProgress() { ::munmap(memory_, sizeof(Progress)); }
  SharedProgress(const SharedProgress&) = delete;
  SharedProgress& operator=(const SharedProgress&) = delete;
  bool ok() const { return memory_ != MAP_FAILED; }
  Progress* operator->() const { return static_cast<Progress*>(memory_); }

 private:
  void* memory_;  // zeros: every counter begins at 0
};

// A thread writes only its own keys: ranks [thread * kKeysPerThread, ...).
Operations OperationOf(uint64_t seed, size_t thread, uint64_t n) {
  Rng rng(Mix(seed ^ Mix(thread)) + n);
  uint64_t last_number = (n * kMostThreads + thread) * 64;
  Operations write = RandomWrite(&rng, kKeysPerThread, &last_number);
  for (auto& [rank, id] : write) rank += thread * kKeysPerThread;
  return write;
}

// The threads' part of a store's life, from the operation after `acknowledged` on.
class Round {
 public:
  Round(uint64_t seed, const CheckOptions& check, Verdict* verdict)
      : seed_(seed),
        check_(check),
        verdict_(verdict),
        rng_(seed),
        threads_(std::clamp<size_t>(rng_.Between(2, static_cast<uint64_t>(check.threads)), 1,
                                    kMostThreads)),
        keys_(&rng_, threads_ * kKeysPerThread),
        scratch_(check.directory),
        content_(keys_.size(), kAbsent) {}

  void Run(uint64_t kills) {
    if (!progress_.ok()) return Fail("mmap: cannot share memory");
    for (uint64_t i = 0; i < kills && verdict_->ok(); ++i, ++verdict_->done) {
      ChooseOptions();
      if (KillOnce()) Judge();
    }
  }

 private:
  void Fail(const std::string& what) {
    verdict_->Add(Violation("kill", seed_, "kill " + std::to_string(verdict_->done) + ": " + what));
  }
  void ChooseOptions() {
    options_ = RandomOptions(&rng_);
    options_.background_threads = 1;
  }

  bool KillOnce() {
    const pid_t child = ::fork();
    if (child < 0) {
      Fail("fork: " + std::string(std::strerror(errno)));
      return false;
    }
    if (child == 0) Child();
    // Waits for the first writes, else slow machines would only ever be killed while opening.
    const uint64_t first = Issued();
    if (!rng_.OneIn(10)) {
      while (Issued() < first + 200 && ::waitpid(child, nullptr, WNOHANG) == 0) ::usleep(500);
    }
    ::usleep(static_cast<useconds_t>(rng_.Skewed(100'000)));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    if (progress_->failed.load()) Fail("child: " + std::string(progress_->message));
    return verdict_->ok();
  }
  uint64_t Issued() const {
    uint64_t sum = 0;
    for (size_t t = 0; t < threads_; ++t) sum += progress_->threads[t].issued.load();
    return sum;
  }

  [[noreturn]] void Child() {
    std::unique_ptr<Store> store;
    RequireOk(Store::Open(options_, scratch_.path() + "/store", &store));
    std::vector<std::thread> writers;
    for (size_t t = 0; t < threads_; ++t) {
      writers.emplace_back([&, t] {
        Progress::Line& line = progress_->threads[t];
        for (uint64_t n = line.issued.load() + 1;; ++n) {
          const Operations write = OperationOf(seed_, t, n);
          line.issued.store(n);
          RequireOk(WriteTo(store.get(), keys_, write));
          line.acknowledged.store(n);
          if (t == 0 && n % 2000 == 0) RequireOk(store->Flush());
          if (t == 1 && n % 500 == 0) RequireOk(store->Checkpoint());
        }
      });
    }
    for (std::thread& writer : writers) writer.join();
    std::_Exit(1);
  }
  void RequireOk(const Status& status) {
    if (status.ok()) return;
    const std::string message = status.ToString();
    message.copy(progress_->message, sizeof progress_->message - 1);
    progress_->failed.store(true);
    std::_Exit(1);
  }

  void Judge() {
    std::unique_ptr<Store> store;
    const Status opened = Store::Open(options_, scratch_.path() + "/store", &store);
    if (!opened.ok()) return Fail("open: expected ok, got " + opened.ToString());
    const RecoveryReport& report = store->recovery();
    if (report.dropped_bytes != 0 || !report.dropped_reason.empty()) {
      return Fail("recovery: expected nothing dropped, got " +
                  std::to_string(report.dropped_bytes) + " bytes, " + report.dropped_reason);
    }
    Content found;
    std::string wrong;
    const Status read = ReadContent(store.get(), keys_, &found, &wrong);
    if (!wrong.empty()) return Fail(wrong);
    if (!read.ok()) return Fail("scan: expected ok, got " + read.ToString());
    for (size_t t = 0; t < threads_ && verdict_->ok(); ++t) JudgeThread(t, found);
    content_ = found;
    const Status closed = store->Close();
    if (!closed.ok()) Fail("close: expected ok, got " + closed.ToString());
  }
  // A thread's keys must hold its operations up to the last one acknowledged (any one, when memory
  // alone was promised) or the one in flight.
  void JudgeThread(size_t t, const Content& found) {
    const auto from = static_cast<std::ptrdiff_t>(t * kKeysPerThread);
    const auto own = [&](const Content& content) {
      return Content(content.begin() + from, content.begin() + from + kKeysPerThread);
    };
    History history(own(content_));
    Progress::Line& line = progress_->threads[t];
    for (uint64_t n = written_[t] + 1; n <= line.issued.load(); ++n) {
      Operations write = OperationOf(seed_, t, n);
      for (auto& [rank, id] : write) rank -= t * kKeysPerThread;
      history.Add(std::move(write));
    }
    const uint64_t acknowledged = std::max(line.acknowledged.load(), written_[t]) - written_[t];
    const std::string wrong =
        history.Judge(own(found), options_.durability == Durability::kNone ? 0 : acknowledged);
    if (!wrong.empty()) Fail("thread " + std::to_string(t) + ": " + wrong);
    written_[t] = line.issued.load();
    line.acknowledged.store(written_[t]);
  }

  const uint64_t seed_;
  const CheckOptions& check_;
  Verdict* const verdict_;
  Rng rng_;
  const size_t threads_;
  const KeySpace keys_;
  const ScratchDirectory scratch_;
  const SharedProgress progress_;
  Options options_;
  Content content_;                      // found after the last kill
  uint64_t written_[kMostThreads] = {};  // operations issued before it
};

}  // namespace

Verdict CheckKill(const CheckOptions& options) {
  constexpr uint64_t kKillsPerRound = 10;
  return RunRounds(options, "kill", "kills", [&](uint64_t seed, Verdict* verdict) {
    Round(seed, options, verdict).Run(kKillsPerRound);
  });
}

}  // namespace chunkstore::testing
