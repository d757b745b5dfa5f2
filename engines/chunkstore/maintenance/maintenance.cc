#include "maintenance/maintenance.h"

#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/budget.h"
#include "kvdyno/base/clock.h"

namespace chunkstore {

namespace {

constexpr uint64_t kTickNs = 900'000'000;
constexpr uint64_t kIdleNs = 3'000'000'000;  // without work
// A run without its index: itself and its extent, each with what the heap adds, and who points to
// it.
constexpr uint64_t kRunBytes = sizeof(Run) + 128;

uint64_t ThreadCpuNs() {
  timespec time;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace

Maintenance::Maintenance(State* state, Writer* writer)
    : state_(*state), writer_(*writer), policy_(state->options) {
  const auto share = [](uint64_t size) {
    return CacheShare{size == Options::kAdaptive ? 0 : size, size == Options::kAdaptive};
  };
  const Options& options = state->options;
  arbiter_ = std::make_unique<Arbiter>(
      CacheBytes(), MunksOfAll(),
      CacheShares{share(options.munk_cache_size), share(options.row_cache_size),
                  share(options.block_cache_size)});
  ApplyShares();
}

Maintenance::~Maintenance() { Stop(); }

void Maintenance::Start(bool punch_gaps) {
  if (state_.options.background_threads == 0) {
    if (punch_gaps) state_.segments->PunchGaps();
    return;
  }
  if (punch_gaps) threads_.emplace_back([this] { state_.segments->PunchGaps(); });
  threads_.emplace_back([this] { RoundLoop(); });
  if (state_.options.durability == Durability::kAsync) {
    threads_.emplace_back([this] { CheckpointLoop(); });
  }
}

void Maintenance::Stop() {
  {
    const std::lock_guard lock(wake_mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

bool Maintenance::stopped() {
  const std::lock_guard lock(wake_mutex_);
  return stop_;
}

void Maintenance::Wake() {
  {
    const std::lock_guard lock(wake_mutex_);
    woken_ = true;
  }
  wake_.notify_all();
}

Status Maintenance::Work() {
  if (state_.options.background_threads > 0) {
    Wake();
    return Status::Ok();
  }
  const std::lock_guard one(state_.maintenance_mutex);
  bool worked = false;
  return Round(&worked);
}

// A round: the oldest sealed stage, then what is due. The error is the flush's, which holds up
// writers; what else fails is tried again later.
Status Maintenance::Round(bool* worked) {
  *worked = false;
  ++rounds_;
  const ChunkMap& map = state_.map();
  for (Chunk* chunk : map.chunks()) {
    if (chunk->failed_rounds > 0) --chunk->failed_rounds;
  }
  if (const Status fatal = state_.fatal(); !fatal.ok()) return fatal;
  SurveyDebt();
  // Twice the limit: writers wait until chunks have caught up.
  const bool overdue = log_debt_ > 2 * debt_limit_;
  if (const auto stage = overdue ? nullptr : OldestSealed(); stage != nullptr) {
    const Status status = FlushStage(stage);
    state_.SetFlushError(status);
    if (!status.ok()) return status;
    *worked = true;
    SurveyDebt();
  }
  std::vector<Job> jobs = policy_.Due(state_.map(), log_debt_, debt_limit_, kRoundBytes);
  if (jobs.empty()) jobs = SparseJobs();
  if (jobs.empty() && state_.options.background_threads > 0) {
    jobs = policy_.DueForScans(state_.map(), kLeisureBytes);
  }
  if (!jobs.empty()) {
    job_error_ = Reorganise(jobs);
    *worked = true;
    SurveyDebt();
  }
  // Chunks that cannot be reorganised must not hold up writers for ever.
  if (overdue && (jobs.empty() || !job_error_.ok())) {
    if (const auto stage = OldestSealed(); stage != nullptr) {
      Status status = FlushStage(stage);
      state_.SetFlushError(status);
      if (!status.ok()) return status;
      *worked = true;
      SurveyDebt();
    }
  } else if (overdue) {
    state_.SetFlushError(Status::Ok());
  }
  warmed_ = state_.options.background_threads > 0 && !stopped() && WarmLogs();
  warmed_ |= KeepMunks();
  const bool inline_tick = state_.options.background_threads == 0 && rounds_ % 8 == 0;
  const uint64_t now = kvdyno::NowNs();
  if (inline_tick || (state_.options.background_threads > 0 && now - last_tick_ns_ > kTickNs)) {
    last_tick_ns_ = now;
    Tick();
    if (!inline_tick && now >= next_trim_ns_) TrimHeap();
  }
  state_.slots.Reclaim();
  return Status::Ok();
}

void Maintenance::RoundLoop() {
  for (bool idle = true;;) {
    {
      std::unique_lock lock(wake_mutex_);
      if (idle) wake_.wait_for(lock, std::chrono::seconds(1), [&] { return stop_ || woken_; });
      if (stop_) return;
      woken_ = false;
    }
    const std::lock_guard one(state_.maintenance_mutex);
    bool worked = false;
    const Status status = Round(&worked);
    idle = !status.ok() || !(worked || warmed_);
  }
}

void Maintenance::CheckpointLoop() {
  const auto interval = std::chrono::duration<double>(state_.options.checkpoint_interval_s);
  for (;;) {
    {
      std::unique_lock lock(wake_mutex_);
      if (wake_.wait_for(lock, interval, [&] { return stop_; })) return;
    }
    // The error is kept by the state, and told to the next writer.
    static_cast<void>(writer_.Checkpoint());
  }
}

// Ends under steady writes too: what was written after the call may stay in the ring, and a bounded
// number of rounds reorganises what is due.
Status Maintenance::FlushAll() {
  constexpr int kExtraRounds = 1000;
  const uint64_t begin = kvdyno::NowNs();
  const Version until = state_.clock.load();
  {
    const std::lock_guard one(state_.maintenance_mutex);
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
      const std::lock_guard one(state_.maintenance_mutex);
      if (Status round = Round(&worked); !round.ok()) return round;
      Status job = std::exchange(job_error_, Status::Ok());
      if (failed.ok()) failed = std::move(job);
    }
    if (rotate_again) rotated = writer_.Rotate();
    const auto oldest = OldestSealed();
    const bool unflushed = oldest != nullptr && oldest->first() <= until;
    again = rotate_again || unflushed || (worked && ++extra_rounds < kExtraRounds);
  }
  drain_seconds_ = static_cast<double>(kvdyno::NowNs() - begin) * 1e-9;
  return failed;
}

Status Maintenance::FlushOldest() {
  const std::lock_guard one(state_.maintenance_mutex);
  const auto stage = OldestSealed();
  return stage == nullptr ? Status::Ok() : FlushStage(stage);
}

Status Maintenance::FlushSealed() {
  const auto stage = OldestSealed();
  if (stage == nullptr) return Status::Ok();
  Status status = FlushStage(stage);
  state_.SetFlushError(status);
  return status;
}

// A batch at a time, so that stages are flushed and space is given back in between.
Status Maintenance::CompactAll() {
  if (Status status = FlushAll(); !status.ok()) return status;
  std::string from;
  do {
    const std::lock_guard one(state_.maintenance_mutex);
    if (Status status = FlushSealed(); !status.ok()) return status;
    std::vector<Job> jobs;
    uint64_t bytes = 0;
    const std::vector<Chunk*>& chunks = state_.map().chunks();
    size_t at = state_.map().Position(from);
    for (; at < chunks.size() && bytes < kRoundBytes; ++at) {
      if (chunks[at]->funk().empty()) continue;
      jobs.push_back({{chunks[at]}, chunks[at]->funk().bytes()});
      bytes += jobs.back().bytes;
    }
    from = at < chunks.size() ? chunks[at]->min_key : "";
    if (!jobs.empty()) {
      if (Status status = Reorganise(jobs); !status.ok()) return status;
    }
    SurveyDebt();
    state_.slots.Reclaim();
  } while (!from.empty());
  return Status::Ok();
}

// Where the file system punches no holes, space comes back when a whole file dies: what is left in
// files that are mostly dead is written anew.
std::vector<Job> Maintenance::SparseJobs() {
  constexpr double kSparse = 0.5;
  const std::vector<uint64_t> sparse = state_.segments->SparseSegments(kSparse);
  std::vector<Job> jobs;
  if (sparse.empty()) return jobs;
  const auto in_sparse = [&sparse](const std::shared_ptr<const Run>& run) {
    return run != nullptr &&
           std::binary_search(sparse.begin(), sparse.end(), run->extent().segment);
  };
  uint64_t bytes = 0;
  for (Chunk* chunk : state_.map().chunks()) {
    const Funk& funk = chunk->funk();
    const auto& log = funk.log->runs();
    if (chunk->failed_rounds > 0 || bytes >= kRoundBytes) continue;
    if (!in_sparse(funk.table) && std::none_of(log.begin(), log.end(), in_sparse)) continue;
    jobs.push_back({{chunk}, funk.bytes()});
    bytes += funk.bytes();
  }
  return jobs;
}

// Touches every run: once a second is often enough.
void Maintenance::SurveyIndexes() {
  uint64_t index = 0;
  uint64_t of_logs = 0;
  for (const Chunk* chunk : state_.map().chunks()) {
    const Funk& funk = chunk->funk();
    index += sizeof(Chunk) + chunk->min_key.size() + chunk->max_key.size();
    if (funk.table != nullptr) index += kRunBytes + funk.table->memory();
    of_logs += funk.log->memory();
    for (const auto& run : funk.log->runs()) of_logs += kRunBytes + run->memory();
  }
  log_index_bytes_ = of_logs;
  index_bytes_ = index + of_logs;
}

// Called before the work; caches give back at once what it needs.
void Maintenance::BeginWork() {
  const bool was_idle = idle();
  last_work_ns_ = kvdyno::NowNs();
  if (!was_idle) return;
  arbiter_->SetTotal(CacheBytes(), MunksOfAll());
  ApplyShares();
  FitMunks();
}

// Without threads all work is asked for, and sizes do not depend on time.
bool Maintenance::idle() const {
  return state_.options.background_threads > 0 && kvdyno::NowNs() - last_work_ns_ > kIdleNs;
}

// What is left for caches: the budget without the ring, the indexes and buffers of background work.
// While there is no work, its buffers and the ring's free stages are lent to the caches.
uint64_t Maintenance::CacheBytes() const {
  const Options& options = state_.options;
  // A reorganisation holds an output of up to twice the chunk size, a growing buffer's copy of it,
  // a group's logs, and reads tables ahead.
  const uint64_t buffers = (uint64_t{4} << 20) + 4 * options.chunk_size + policy_.GroupBytes();
  const uint64_t spare = state_.spare_pages.most();
  // Between indexes, which come and go in all sizes, the heap has holes smaller than a page.
  const uint64_t holes = index_bytes_ / 4;
  const uint64_t work =
      idle() ? state_.ring->memory_in_use()
             : state_.ring->memory() +
                   buffers * static_cast<uint64_t>(std::max(options.background_threads, 1));
  const uint64_t taken =
      work + index_bytes_ + holes + ProcessReserve(options.memory_budget) + spare;
  const uint64_t least = options.memory_budget / 16;
  return taken + least < options.memory_budget ? options.memory_budget - taken : least;
}

void Maintenance::ApplyShares() {
  const CacheShares& shares = arbiter_->shares();
  munk_capacity_ = shares.munks.bytes;
  if (state_.rows != nullptr) state_.rows->SetCapacity(shares.rows.bytes);
  if (state_.blocks != nullptr) state_.blocks->SetCapacity(shares.blocks.bytes);
}

// Indexes of all sizes come and go, and the C library keeps the pages between those that stay: with
// a budget of 256 MiB 57 MiB after four minutes of mixed load. Takes a hundredth of a CPU at most,
// however large the process's heap.
void Maintenance::TrimHeap() {
#ifdef __GLIBC__
  const uint64_t begin_ns = ThreadCpuNs();
  ::malloc_trim(0);
  next_trim_ns_ = kvdyno::NowNs() + 100 * (ThreadCpuNs() - begin_ns);
#endif
}

// Once a second or so: memory follows use, and heat fades.
void Maintenance::Tick() {
  SurveyIndexes();
  arbiter_->SetTotal(CacheBytes(), MunksOfAll());
  CacheObservation munks, rows, blocks;
  munks.hits = state_.counters.Gets(Served::kMunk);
  munks.memory = munk_bytes_;
  uint64_t outside = 0;
  std::vector<std::pair<uint32_t, uint64_t>> cold;  // reads, bytes
  for (const Chunk* chunk : state_.map().chunks()) {
    const uint32_t reads = chunk->heat.reads.load(std::memory_order_relaxed);
    if (chunk->munk() == nullptr && reads > 0) cold.emplace_back(reads, chunk->funk().bytes());
    chunk->heat.reads.store(reads / 2, std::memory_order_relaxed);
    chunk->heat.scans.store(chunk->heat.scans.load(std::memory_order_relaxed) / 2,
                            std::memory_order_relaxed);
  }
  // The ghosts of munks: the hottest chunks that another share of the same size would hold.
  std::sort(cold.begin(), cold.end(), std::greater<>());
  uint64_t room = munk_capacity_;
  for (const auto& [reads, bytes] : cold) {
    if (bytes > room) break;
    room -= bytes;
    outside += reads / 2;
  }
  if (state_.rows != nullptr) {
    const RowCache::Counts counts = state_.rows->counts();
    rows = {counts.hits, counts.ghost_hits, counts.misses, state_.rows->memory()};
  }
  if (state_.blocks != nullptr) {
    const BlockCache::Counts counts = state_.blocks->counts();
    blocks = {counts.hits, counts.ghost_hits, counts.misses, state_.blocks->memory()};
  }
  const auto since = [](const CacheObservation& now, CacheObservation* last) {
    const CacheObservation difference{now.hits - last->hits, now.ghost_hits - last->ghost_hits,
                                      now.misses - last->misses, now.memory};
    *last = now;
    return difference;
  };
  CacheObservation munks_now = since(munks, &last_munks_);
  munks_now.ghost_hits = outside;
  const CacheObservation rows_now = since(rows, &last_rows_);
  const CacheObservation blocks_now = since(blocks, &last_blocks_);
  arbiter_->Decide(munks_now, rows_now, blocks_now);
  ApplyShares();
}

}  // namespace chunkstore
