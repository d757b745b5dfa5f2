#include "maintenance/maintenance.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "hooks/moments.h"
#include "kvdyno/base/clock.h"

namespace chunkstore {

namespace {

// A call from outside that does maintenance, for as long as it lasts.
class Call {
 public:
  explicit Call(std::atomic<int>* calls) : calls_(*calls) {
    ++calls_;
    Reached(Moment::kMaintenanceCalled);
  }
  ~Call() {
    Reached(Moment::kMaintenanceDone);
    --calls_;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  std::atomic<int>& calls_;
};

constexpr auto kPause = std::chrono::milliseconds(250);  // without work
constexpr double kSparse = 0.5;                          // of a segment that is dead
}  // namespace

Maintenance::Maintenance(State* state, Writer* writer)
    : state_(*state),
      writer_(*writer),
      policy_(state->options),
      editor_(state),
      munks_(state, &policy_, [this] { return stopped(); }),
      budget_(state, &policy_, &munks_),
      warmer_(state, &policy_),
      flusher_(state, &policy_, &editor_, &munks_),
      reorganiser_(state, &policy_, &editor_, &munks_),
      scans_since_ns_(kvdyno::NowNs()) {}

Maintenance::~Maintenance() { Stop(); }

void Maintenance::Start(bool punch_gaps) {
  if (state_.options.background_threads == 0) {
    if (punch_gaps) state_.segments->PunchGaps();
    return;
  }
  state_.segments->UseThreads();
  if (punch_gaps) threads_.emplace_back([this] { state_.segments->PunchGaps(); });
  threads_.emplace_back([this] { RoundLoop(); });
  if (state_.options.durability != Durability::kNone) {
    threads_.emplace_back([this] { CheckpointLoop(); });
  }
}

void Maintenance::Stop() {
  {
    const kvdyno::MutexLock lock(wake_mutex_);
    stop_ = true;
  }
  wake_.NotifyAll();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

bool Maintenance::stopped() {
  const kvdyno::MutexLock lock(wake_mutex_);
  return stop_;
}

void Maintenance::Wake() {
  {
    const kvdyno::MutexLock lock(wake_mutex_);
    woken_ = true;
  }
  wake_.NotifyAll();
}

Status Maintenance::Work() {
  if (state_.options.background_threads > 0) {
    Wake();
    return Status::Ok();
  }
  const kvdyno::MutexLock one(state_.maintenance_mutex);
  bool worked = false;
  return Round(&worked, false);
}

// A round: the oldest sealed stage, then what is due, or else, at leisure, what makes scans faster.
// The error is the flush's, which holds up writers; what else fails is tried again later.
Status Maintenance::Round(bool* worked, bool leisure) {
  Reached(Moment::kRoundBegun);
  *worked = false;
  const ChunkMap& map = state_.map();
  for (Chunk* chunk : map.chunks()) {
    if (chunk->failed_rounds > 0) --chunk->failed_rounds;
  }
  // In busy rounds too, so that scans before a long burst of writes do not count after it.
  scans_since_ns_ = Policy::ScansSince(map, kvdyno::NowNs(), scans_since_ns_);
  if (const Status fatal = state_.fatal(); !fatal.ok()) return fatal;
  SurveyDebt();
  // Twice the limit: writers wait until chunks have caught up.
  const bool overdue = log_debt_ > 2 * debt_limit_;
  if (!overdue) {
    if (Status status = FlushAhead(worked); !status.ok()) return status;
  }
  if (!reorganiser_.planned()) Plan(DueJobs());
  const bool due = reorganiser_.planned();
  if (due) {
    job_error_ = RunJobs();
    *worked = true;
  }
  // Chunks that cannot be reorganised must not hold up writers for ever.
  if (overdue && (!due || !job_error_.ok())) {
    if (Status status = FlushSealed(worked); !status.ok()) return status;
  } else if (overdue) {
    state_.SetFlushError(Status::Ok());
  }
  if (!due && leisure) *worked |= MergeForScans();
  KeepMemory();
  return Status::Ok();
}

// The logs that the flush will make due are on their way from disk meanwhile. Not for chunks that it
// replaces.
Status Maintenance::FlushAhead(bool* worked) {
  const auto stage = flusher_.OldestSealed();
  if (stage == nullptr) return Status::Ok();
  const ChunkMap* map = &state_.map();
  Plan(policy_.Due(*map, log_debt_ + stage->bytes(), debt_limit_, kRoundBytes));
  const Status status = FlushSealed(worked);
  if (!status.ok() || &state_.map() != map) reorganiser_.Plan({});
  return status;
}

std::vector<Job> Maintenance::DueJobs() const {
  const ChunkMap& map = state_.map();
  std::vector<Job> jobs = policy_.Due(map, log_debt_, debt_limit_, kRoundBytes);
  if (!jobs.empty()) return jobs;
  return Policy::DueForSpace(map, state_.segments->SparseSegments(kSparse), kRoundBytes);
}

Status Maintenance::RunJobs() {
  Status failed = reorganiser_.Run();
  // A chunk that cannot be reorganised is tried again for good.
  if (!failed.ok() && failed.code() != logged_) {
    state_.Log(LogLevel::kWarning, "reorganise: " + failed.ToString());
  }
  logged_ = failed.code();
  SurveyDebt();
  return failed;
}

// Whether there was something to merge. An error is logged, and a Flush does not report it: it asked
// for none of this.
bool Maintenance::MergeForScans() {
  Plan(policy_.DueForScans(state_.map(), kvdyno::NowNs(), scans_since_ns_, kLeisureBytes));
  if (!reorganiser_.planned()) return false;
  Reached(Moment::kMergingForScans);
  static_cast<void>(RunJobs());
  return true;
}

// Log indexes, munks and shares of the budget: what makes reads fast, after what must be done.
void Maintenance::KeepMemory() {
  const bool threads = state_.options.background_threads > 0;
  warmed_ = threads && !stopped() && warmer_.Warm();
  budget_.Tick();
  warmed_ |= munks_.Keep();  // gives back at once what other caches may have from now on
  state_.slots.Reclaim();
}

// Steps aside for calls, which would hardly get a mutex that is released for a moment only.
void Maintenance::RoundLoop() {
  for (bool rest = true;;) {
    {
      const kvdyno::MutexLock lock(wake_mutex_);
      if (rest && !stop_ && !woken_) wake_.WaitFor(&wake_mutex_, kPause);
      if (stop_) return;
      woken_ = false;
    }
    const kvdyno::MutexLock one(state_.maintenance_mutex);
    bool worked = false;
    const Status status = Round(&worked, calls_ == 0);
    const bool idle = !status.ok() || !(worked || warmed_);
    if (idle) busy_ = false;
    rest = idle || calls_ > 0;
  }
}

void Maintenance::CheckpointLoop() {
  const auto interval = std::chrono::duration<double>(state_.options.checkpoint_interval_s);
  for (;;) {
    {
      const kvdyno::MutexLock lock(wake_mutex_);
      const auto begin = std::chrono::steady_clock::now();
      for (auto left = interval; !stop_ && left.count() > 0;) {
        wake_.WaitFor(&wake_mutex_, left);
        left = interval - (std::chrono::steady_clock::now() - begin);
      }
      if (stop_) return;
    }
    // The state keeps the error, and the next writer gets it.
    static_cast<void>(writer_.Checkpoint());
  }
}

// Ends under steady writes too: what was written after the call may stay in the ring, and a bounded
// number of rounds reorganises what is due.
Status Maintenance::FlushAll() {
  const Call call(&calls_);
  constexpr int kExtraRounds = 1000;
  const uint64_t begin = kvdyno::NowNs();
  const Version until = state_.clock.load();
  {
    const kvdyno::MutexLock one(state_.maintenance_mutex);
    job_error_ = Status::Ok();
    for (Chunk* chunk : state_.map().chunks()) chunk->failed_rounds = 0;
  }
  Status failed;  // of a chunk; the others go on
  Status rotated = writer_.Rotate();
  int extra_rounds = 0;
  for (bool again = true; again;) {
    if (!rotated.ok() && rotated.code() != Code::kBusy) return rotated;
    const bool rotate_again = !rotated.ok();
    bool worked = false;
    {
      const kvdyno::MutexLock one(state_.maintenance_mutex);
      if (Status round = Round(&worked, false); !round.ok()) return round;
      Status job = std::exchange(job_error_, Status::Ok());
      if (failed.ok()) failed = std::move(job);
    }
    if (rotate_again) rotated = writer_.Rotate();
    const auto oldest = flusher_.OldestSealed();
    const bool unflushed = oldest != nullptr && oldest->first() <= until;
    again = rotate_again || unflushed || (worked && ++extra_rounds < kExtraRounds);
  }
  state_.segments->WaitForSpace();
  drain_seconds_ = static_cast<double>(kvdyno::NowNs() - begin) * 1e-9;
  return failed;
}

// Ends under steady writes too: what was written after the call may stay in the ring.
Status Maintenance::FlushStages() {
  const Call call(&calls_);
  const Version until = state_.clock.load();
  for (Status rotated = writer_.Rotate();;) {
    if (!rotated.ok() && rotated.code() != Code::kBusy) return rotated;
    const kvdyno::MutexLock one(state_.maintenance_mutex);
    const auto oldest = flusher_.OldestSealed();
    if (rotated.ok() && (oldest == nullptr || oldest->first() > until)) return rotated;
    if (const Status fatal = state_.fatal(); !fatal.ok()) return fatal;
    bool flushed = false;
    if (Status status = FlushSealed(&flushed); !status.ok()) return status;
    if (!rotated.ok()) rotated = writer_.Rotate();
  }
}

Status Maintenance::FlushOldest() {
  const kvdyno::MutexLock one(state_.maintenance_mutex);
  const auto stage = flusher_.OldestSealed();
  return stage == nullptr ? Status::Ok() : Flush(stage);
}

Status Maintenance::Flush(const std::shared_ptr<Stage>& stage) {
  budget_.BeginWork();
  return flusher_.Flush(stage);
}

void Maintenance::Plan(std::vector<Job> jobs) {
  if (!jobs.empty()) budget_.BeginWork();
  reorganiser_.Plan(std::move(jobs));
}

Status Maintenance::Reorganise(std::vector<Job> jobs) {
  Plan(std::move(jobs));
  return reorganiser_.Run();
}

Status Maintenance::FlushSealed(bool* worked) {
  const auto stage = flusher_.OldestSealed();
  if (stage == nullptr) return Status::Ok();
  const Status status = Flush(stage);
  state_.SetFlushError(status);
  if (!status.ok()) return status;
  state_.pace.Flushed(stage->bytes(), stage->capacity(), busy_, kvdyno::NowNs());
  busy_ = true;
  *worked = true;
  SurveyDebt();
  return Status::Ok();
}

// A batch at a time, so that stages are flushed and space is given back in between.
Status Maintenance::CompactAll() {
  const Call call(&calls_);
  if (Status status = FlushAll(); !status.ok()) return status;
  std::string from;
  do {
    const kvdyno::MutexLock one(state_.maintenance_mutex);
    bool flushed = false;
    if (Status status = FlushSealed(&flushed); !status.ok()) return status;
    std::vector<Job> jobs = Policy::All(state_.map(), &from, kRoundBytes);
    if (!jobs.empty()) {
      if (Status status = Reorganise(std::move(jobs)); !status.ok()) return status;
    }
    SurveyDebt();
    state_.slots.Reclaim();
  } while (!from.empty());
  state_.segments->WaitForSpace();
  return Status::Ok();
}

void Maintenance::SurveyDebt() {
  uint64_t debt = 0;
  for (const Chunk* chunk : state_.map().chunks()) debt += chunk->funk().log_bytes();
  log_debt_ = debt;
  debt_limit_ = policy_.DebtLimit(state_.segments->live_bytes(), debt, budget_.log_index_bytes());
  state_.pace.SetDebt(policy_.SlowdownNsPerByte(debt, debt_limit_));
}

// What is owed is counted once, after the flush: the call ends under steady writes too. A batch at
// a time, so that stages are flushed and space is given back in between.
Status Maintenance::PayDebt(uint64_t log_bytes_max) {
  const Call call(&calls_);
  if (Status status = FlushAll(); !status.ok()) return status;
  std::optional<uint64_t> owed;
  for (Status error;;) {
    if (state_.gate.closed()) {
      return Status::InvalidArgument("pay debt " + state_.directory + ": the store was closed");
    }
    const kvdyno::MutexLock one(state_.maintenance_mutex);
    bool flushed = false;
    if (Status status = FlushSealed(&flushed); !status.ok()) return status;
    SurveyDebt();
    const uint64_t above = log_debt_ > log_bytes_max ? log_debt_ - log_bytes_max : 0;
    owed = std::min(owed.value_or(above), above);
    const uint64_t paid = *owed == 0 ? 0 : PayOnce(log_bytes_max, &error);
    if (paid == 0) {
      state_.segments->WaitForSpace();
      return error;
    }
    *owed -= std::min(*owed, paid);
  }
}

// Bytes of logs that are gone. *error keeps the first chunk's that could not be reorganised; others
// are.
uint64_t Maintenance::PayOnce(uint64_t log_bytes_max, Status* error) {
  const uint64_t before = log_debt_;
  std::vector<Job> jobs = policy_.Due(state_.map(), before, log_bytes_max, kRoundBytes);
  if (jobs.empty()) return 0;
  Status status = Reorganise(std::move(jobs));
  if (error->ok()) *error = std::move(status);
  SurveyDebt();
  state_.slots.Reclaim();
  return before - std::min<uint64_t>(before, log_debt_);
}

}  // namespace chunkstore
