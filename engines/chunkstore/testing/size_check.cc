// CheckManyChunks, CheckRecoveryTime, CheckMemory: what must stay small when a store is large.
#include <malloc.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "kvdyno/base/clock.h"
#include "kvdyno/base/testing/fault_file_system.h"
#include "kvdyno/base/testing/process.h"
#include "kvdyno/base/units.h"
#include "testing/checkers.h"
#include "testing/history.h"

namespace chunkstore::testing {
namespace {

using kvdyno::testing::AnonymousBytes;
using kvdyno::testing::CachedBytes;
using kvdyno::testing::OpenFileDescriptors;

constexpr uint64_t kMiB = 1 << 20;

double SecondsSince(uint64_t start_ns) {
  return static_cast<double>(kvdyno::NowNs() - start_ns) * 1e-9;
}
std::string Rounded(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}

// Fixed width, so that the order of keys is that of numbers.
std::string NumberedKey(uint64_t number) {
  std::string text = std::to_string(number);
  return "key" + std::string(12 - std::min<size_t>(12, text.size()), '0') + text;
}
ValueId NumberedId(uint64_t number, uint64_t length) { return MakeId(number + 1, length); }

Status Load(Store* store, uint64_t from, uint64_t to, uint64_t length) {
  std::string value;
  for (uint64_t i = from; i < to; ++i) {
    MakeValue(NumberedId(i, length), &value);
    Status status = store->Put(NumberedKey(i), value);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}
// Empty when the row is what Load wrote.
std::string CheckRow(Store* store, uint64_t number, uint64_t length) {
  std::string value;
  const Status status = store->Get(NumberedKey(number), &value);
  if (status.ok() && IsValue(NumberedId(number, length), value)) return {};
  return NumberedKey(number) + ": expected its value, got " +
         (status.ok() ? "another" : status.ToString());
}

// A number among the store's properties, 0 if it has no such thing.
uint64_t NumberProperty(const Store& store, const char* name) {
  std::string text;
  return store.GetProperty(name, &text) ? std::strtoull(text.c_str(), nullptr, 10) : 0;
}

}  // namespace

Verdict CheckManyChunks(const CheckOptions& check) {
  Verdict verdict;
  const auto fail = [&](const std::string& what) {
    verdict.Add(Violation("chunks", check.seed, what, check.count));
    return verdict;
  };
  constexpr uint64_t kLength = 1000, kRowsPerStep = 10'000;
  const ScratchDirectory scratch(check.directory);
  kvdyno::testing::FaultFileSystem files(kvdyno::FileSystem::Posix());
  Options options;
  options.file_system = &files;
  options.chunk_size = 4096;
  options.memory_budget = 256 * kMiB;
  options.stage_size = 16 * kMiB;
  options.munk_cache_size = 0;
  options.max_open_files = 64;
  options.direct_io = false;
  const std::string directory = scratch.path() + "/store";
  std::unique_ptr<Store> store;
  Status status = Store::Open(options, directory, &store);
  uint64_t rows = 0;
  while (status.ok() && NumberProperty(*store, "num-chunks") < check.count &&
         rows < check.count * 8) {
    status = Load(store.get(), rows, rows + kRowsPerStep, kLength);
    rows += kRowsPerStep;
    if (status.ok() && rows % (kRowsPerStep * 8) == 0) status = store->Flush();
  }
  if (status.ok()) status = store->Flush();
  if (!status.ok()) return fail("load: expected ok, got " + status.ToString());
  const uint64_t chunks = NumberProperty(*store, "num-chunks");
  if (chunks < check.count) return fail("load: got only " + std::to_string(chunks) + " chunks");
  status = store->Close();
  if (!status.ok()) return fail("close: expected ok, got " + status.ToString());
  store.reset();

  const uint64_t calls = files.calls(), descriptors = OpenFileDescriptors();
  const uint64_t start = kvdyno::NowNs();
  status = Store::Open(options, directory, &store);
  const double seconds = SecondsSince(start);
  if (!status.ok()) return fail("open: expected ok, got " + status.ToString());
  const uint64_t open_calls = files.calls() - calls;
  if (open_calls > 1000 + chunks / 20) {
    return fail("open: expected few calls of the file system, got " + std::to_string(open_calls));
  }
  Rng rng(check.seed);
  for (int i = 0; i < 2000; ++i) {
    const std::string wrong = CheckRow(store.get(), rng.Below(rows), kLength);
    if (!wrong.empty()) return fail(wrong);
  }
  const uint64_t more_descriptors =
      OpenFileDescriptors() - std::min(descriptors, OpenFileDescriptors());
  if (more_descriptors > options.max_open_files + 32) {
    return fail("reads: expected at most " + std::to_string(options.max_open_files) +
                " open files and a few, got " + std::to_string(more_descriptors));
  }
  verdict.done = chunks;
  verdict.rounds = 1;
  verdict.note = std::to_string(chunks) + " chunks open in " + Rounded(seconds) + " s with " +
                 std::to_string(open_calls) + " calls; " + std::to_string(more_descriptors) +
                 " files open after reads";
  return verdict;
}

Verdict CheckRecoveryTime(const CheckOptions& check) {
  Verdict verdict;
  const auto fail = [&](const std::string& what) {
    verdict.Add(Violation("recovery", check.seed, what, check.count));
    return verdict;
  };
  constexpr uint64_t kLength = 1000;
  const uint64_t rows = check.count / kLength;
  const ScratchDirectory scratch(check.directory);
  Options options;
  const std::string directory = scratch.path() + "/store";
  std::unique_ptr<Store> store;
  const pid_t child = ::fork();
  if (child == 0) {
    const bool loaded =
        Store::Open(options, directory, &store).ok() && Load(store.get(), 0, rows, kLength).ok();
    if (loaded) ::kill(::getpid(), SIGKILL);
    std::_Exit(1);
  }
  int outcome = 0;
  ::waitpid(child, &outcome, 0);
  if (!WIFSIGNALED(outcome)) return fail("load: failed");
  const uint64_t start = kvdyno::NowNs();
  const Status status = Store::Open(options, directory, &store);
  const double seconds = SecondsSince(start);
  if (!status.ok()) return fail("open: expected ok, got " + status.ToString());
  verdict.note = kvdyno::FormatBytes(check.count) + " recovered in " + Rounded(seconds) + " s, " +
                 std::to_string(store->recovery().recovered_bytes) + " bytes from the ring";
  Rng rng(check.seed);
  for (int i = 0; i < 10'000; ++i) {
    const std::string wrong = CheckRow(store.get(), rows - 1 - rng.Skewed(rows - 1), kLength);
    if (!wrong.empty()) return fail(wrong);
  }
  verdict.done = check.count;
  verdict.rounds = 1;
  return verdict;
}

namespace {

// Memory of this process and the page cache of a store, looked at all the time: peaks are short.
class MemoryWatch {
 public:
  explicit MemoryWatch(std::string directory)
      : directory_(std::move(directory)), watcher_([this] {
          for (; !done_.load(); std::this_thread::sleep_for(std::chrono::milliseconds(20))) Look();
        }) {}
  ~MemoryWatch() {
    done_.store(true);
    watcher_.join();
  }
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  uint64_t peak() const { return peak_.load(); }
  uint64_t last() const { return last_.load(); }

 private:
  void Look() {
    last_.store(AnonymousBytes() + CachedBytes(directory_));
    peak_.store(std::max(peak_.load(), last_.load()));
  }
  const std::string directory_;
  std::atomic<bool> done_{false};
  std::atomic<uint64_t> peak_{0}, last_{0};
  std::thread watcher_;
};

// One step of the mixture over rows 0 to `rows`. Empty when all is well.
std::string MixedStep(Store* store, uint64_t rows, uint64_t length, Rng* rng) {
  const uint64_t row = rng->Below(rows), dice = rng->Below(20);
  Status status;
  if (dice == 0) {
    ScanOptions scan;
    const std::string from = NumberedKey(row);
    scan.start = from;
    scan.limit = rng->Skewed(200);
    status = store->Scan(scan, [](auto, auto) { return true; });
  } else if (dice < 10) {
    status = Load(store, row, row + 1, length);
  } else {
    return CheckRow(store, row, length);
  }
  return status.ok() ? std::string() : "expected ok, got " + status.ToString();
}

}  // namespace

// Counted are all anonymous memory of the process, what the test itself holds included, and all
// pages of the store's files that the kernel keeps. The program's own text is not.
Verdict CheckMemory(const CheckOptions& check) {
  Verdict verdict;
  const uint64_t length = check.value_bytes;
  const ScratchDirectory scratch(check.directory);
  const std::string directory = scratch.path() + "/store";
  Options options;
  options.memory_budget = check.count;
  options.background_threads = 1;
  options.trim_heap = true;
  // Caches that fill the budget by themselves, and short runs, of which each takes room beside them.
  if (check.small_runs) {
    options.munk_cache_size = check.count / 2;
    options.row_cache_size = check.count / 5;
    options.block_cache_size = 0;
    options.chunk_size = check.count / 1500;
    options.stage_size = check.count / 250;
    options.log_lookup = LogLookup::kBloom;
  }
  ::malloc_trim(0);  // what earlier tests have freed
  const MemoryWatch watch(directory);
  std::unique_ptr<Store> store;
  Status status = Store::Open(options, directory, &store);
  const uint64_t rows = 4 * check.count / length;
  const auto fail = [&](const std::string& what) {
    verdict.Add(Violation("memory", check.seed, what, check.count));
  };
  const auto tell = [&] {
    if (check.log) {
      check.log("memory: " + std::to_string(watch.last() / kMiB) + " MiB, at most " +
                std::to_string(watch.peak() / kMiB));
    }
    if (watch.peak() > check.count) {
      fail("expected at most " + std::to_string(check.count) + " bytes, got " +
           std::to_string(watch.peak()));
    }
  };
  // A load in order, then a mixture over all rows.
  for (uint64_t row = 0; status.ok() && verdict.ok() && row < rows; row += 10'000) {
    status = Load(store.get(), row, row + 10'000, length);
    tell();
  }
  if (!status.ok()) fail("load: expected ok, got " + status.ToString());
  Rng rng(check.seed);
  const uint64_t start = kvdyno::NowNs();
  const auto more = [&](uint64_t step) {
    return check.seconds > 0 ? SecondsSince(start) < check.seconds : step < 20;
  };
  for (uint64_t step = 0; verdict.ok() && more(step); ++step) {
    for (int i = 0; i < 20'000 && verdict.ok(); ++i) {
      const std::string wrong = MixedStep(store.get(), rows, length, &rng);
      if (!wrong.empty()) fail(wrong);
    }
    tell();
  }
  // A rest, in which caches borrow what background work leaves; then all of it is needed at once.
  const uint64_t rest = kvdyno::NowNs();
  while (verdict.ok() && SecondsSince(rest) < 5) {
    const std::string wrong = CheckRow(store.get(), rng.Below(rows), length);
    if (!wrong.empty()) fail(wrong);
  }
  tell();
  for (uint64_t row = 0; status.ok() && verdict.ok() && row < rows; row += 10'000) {
    status = Load(store.get(), row, row + 10'000, length);
    tell();
  }
  if (status.ok()) status = store->PayDebt(0);
  if (!status.ok()) fail("load after a rest: expected ok, got " + status.ToString());
  tell();
  verdict.done = check.count;
  verdict.rounds = 1;
  verdict.note = "at most " + Rounded(static_cast<double>(watch.peak()) / kMiB) +
                 " MiB with a budget of " + std::to_string(check.count / kMiB) + " MiB";
  return verdict;
}

}  // namespace chunkstore::testing
