#include "maintenance/budget_keeper.h"

#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/budget.h"
#include "core/process_memory.h"
#include "kvdyno/base/clock.h"

namespace chunkstore {

namespace {

constexpr auto kSurveyNs = static_cast<uint64_t>(kHeatHalvedSeconds * 1e9);
constexpr uint64_t kDecisionNs = 200'000'000;
constexpr uint64_t kIdleNs = 1'000'000'000;  // without work
// By how much the process may grow before the next look.
constexpr uint64_t kGrowthBytes = 4 << 20;
// What the kernel keeps of the store's files for a moment while they are written.
constexpr uint64_t kFilePagesBytes = 4 << 20;

// Left alone, the C library takes large buffers from the heap once one was freed. A round's outputs,
// logs and tables then grow it faster than it can be trimmed: by 76 MB in a second while debt was
// paid under a cap of 256 MiB.
void MapLargeBuffers() {
#ifdef __GLIBC__
  constexpr int kFrom = 256 << 10;  // bytes
  ::mallopt(M_MMAP_THRESHOLD, kFrom);
#endif
}

uint64_t ThreadCpuNs() {
  timespec time;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace

BudgetKeeper::BudgetKeeper(State* state, const Policy* policy, MunkKeeper* munks)
    : state_(*state), policy_(*policy), munks_(*munks), budget_(state->options.memory_budget) {
  const auto share = [](uint64_t size) {
    return CacheShare{size == Options::kAdaptive ? 0 : size, size == Options::kAdaptive};
  };
  const Options& options = state->options;
  if (options.trim_heap) MapLargeBuffers();
  Share();
  arbiter_ = std::make_unique<Arbiter>(
      CacheBytes(), munks_.BytesOfAll(),
      CacheShares{share(options.munk_cache_size), share(options.row_cache_size),
                  share(options.block_cache_size)});
  ApplyShares();
}

void BudgetKeeper::BeginWork() {
  const bool was_idle = idle();
  last_work_ns_ = kvdyno::NowNs();
  quiet_ = false;
  if (!was_idle) return;
  Fit();
  munks_.MakeFit();
}

// Without threads all work is asked for, and sizes do not depend on time.
bool BudgetKeeper::idle() const {
  return state_.options.background_threads > 0 && kvdyno::NowNs() - last_work_ns_ > kIdleNs;
}

// The first write of a quiet store calls: wake_on_write is set before the clock is read, so that no
// write comes unseen in between.
void BudgetKeeper::LookForWrites() {
  const uint64_t now = kvdyno::NowNs();
  state_.wake_on_write.store(idle());
  if (const Version version = state_.clock.load(); version != last_version_) {
    last_version_ = version;
    last_write_ns_ = now;
  }
  const bool was_quiet = quiet_;
  quiet_ = idle() && now - last_write_ns_ > kIdleNs;
  state_.wake_on_write.store(quiet_);
  if (was_quiet && !quiet_) Fit();
}

// The ring, the indexes and buffers of background work. While there is no work, its buffers and the
// ring's free stages are lent to the caches.
uint64_t BudgetKeeper::TakenBytes() const {
  const Options& options = state_.options;
  // A reorganisation holds an output of up to twice the chunk size, a growing buffer's copy of it,
  // a group's logs, and reads tables ahead.
  const uint64_t buffers = (uint64_t{4} << 20) + 4 * options.chunk_size + policy_.GroupBytes();
  const uint64_t work =
      idle() ? std::max<uint64_t>(state_.ring->memory_in_use(), ring_resident_)
             : state_.ring->memory() +
                   buffers * static_cast<uint64_t>(std::max(options.background_threads, 1));
  return work + index_bytes_ + ProcessBytes() + state_.spare_pages.most();
}

// What the process takes beside what is counted: as much as it may come to, or what it really is
// while the store is quiet. Where it holds other things as well, their memory is not lent.
uint64_t BudgetKeeper::ProcessBytes() const {
  // Indexes come and go in all sizes, and between those that stay the heap keeps holes smaller than
  // a page: a quarter of what the indexes take, at worst as much again.
  const uint64_t reserve = ProcessReserve(state_.options.memory_budget);
  const uint64_t most = std::clamp<uint64_t>(beside_ + kFilePagesBytes + kGrowthBytes,
                                             reserve + index_bytes_ / 4, reserve + index_bytes_);
  return quiet_ ? std::min(most, BesideBytes() + kGrowthBytes) : most;
}

// What the process takes now beside what is counted; the whole budget where the system does not say.
uint64_t BudgetKeeper::BesideBytes() const {
  const uint64_t resident = AnonymousBytes();
  if (resident == 0) return state_.options.memory_budget;
  uint64_t counted = munks_.memory() + surveyed_bytes_ + state_.spare_pages.bytes();
  if (state_.rows != nullptr) counted += state_.rows->memory();
  if (state_.blocks != nullptr) counted += state_.blocks->memory();
  return resident - std::min(resident, counted);
}

// Reads of a store that was just opened load indexes faster than they are counted. With small blocks
// they took a process over its cap within the second.
bool BudgetKeeper::HasGrown() const { return BesideBytes() > unexplained_ + kGrowthBytes; }

uint64_t BudgetKeeper::CacheBytes() const {
  const uint64_t taken = TakenBytes();
  const uint64_t least = state_.options.memory_budget / 16;
  const uint64_t budget = budget_.load();
  return taken + least < budget ? budget - taken : least;
}

void BudgetKeeper::Fit() {
  arbiter_->SetTotal(CacheBytes(), munks_.BytesOfAll());
  ApplyShares();
}

// Munks of all data, and what the arbiter leaves the other caches, are all that caches can use.
void BudgetKeeper::Share() {
  if (state_.shared_budget == nullptr) return;
  uint64_t reads = state_.counters.Sum(Count::kScans);
  for (size_t i = 0; i < kServers; ++i) reads += state_.counters.Gets(static_cast<Served>(i));
  const uint64_t useful = TakenBytes() + munks_.BytesOfAll() / 4 * 5;
  budget_ = state_.shared_budget->Settle(reads - std::exchange(shared_reads_, reads), useful);
}

void BudgetKeeper::ApplyShares() {
  const CacheShares& shares = arbiter_->shares();
  munks_.SetCapacity(shares.munks.bytes);
  if (state_.rows != nullptr) state_.rows->SetCapacity(shares.rows.bytes);
  if (state_.blocks != nullptr) state_.blocks->SetCapacity(shares.blocks.bytes);
}

// Touches every run, so not each round does it.
void BudgetKeeper::SurveyIndexes() {
  uint64_t index = 0;
  uint64_t of_logs = 0;
  uint64_t filters = 0;
  for (const Chunk* chunk : state_.map().chunks()) {
    const Funk& funk = chunk->funk();
    index += sizeof(Chunk) + chunk->min_key.size() + chunk->max_key.size();
    if (funk.table != nullptr) {
      index += kSortedRunBytes + funk.table->memory();
      filters += funk.table->filter_memory();
    }
    of_logs += funk.log->memory();
    of_logs += funk.log->runs().size() * sizeof(ExtentRef);
  }
  log_index_bytes_ = of_logs;
  surveyed_bytes_ = index + of_logs;
  index_bytes_ =
      state_.trims_heap() ? std::max<uint64_t>(index_bytes_, surveyed_bytes_) : surveyed_bytes_;
  // Rows of 64 bytes need more filter than index. The tables that are written next have none.
  state_.filters_fit = filters <= state_.options.memory_budget / 8;
  unexplained_ = BesideBytes();
}

// Indexes of all sizes come and go, and the C library keeps the pages between those that stay: with
// a budget of 256 MiB 57 MiB after four minutes of mixed load. Takes a hundredth of a CPU at most,
// however large the process's heap.
void BudgetKeeper::TrimHeap() {
#ifdef __GLIBC__
  if (kvdyno::NowNs() < next_trim_ns_) return;
  const uint64_t begin_ns = ThreadCpuNs();
  ::malloc_trim(0);
  next_trim_ns_ = kvdyno::NowNs() + 100 * (ThreadCpuNs() - begin_ns);
#endif
  index_bytes_ = surveyed_bytes_;
  beside_ = BesideBytes();
  munks_.HeapWasTrimmed();
}

void BudgetKeeper::Tick() {
  const bool threads = state_.options.background_threads > 0;
  if (threads) LookForWrites();
  const uint64_t now = kvdyno::NowNs();
  // Without threads nothing depends on time.
  const bool survey = threads ? now - last_survey_ns_ > kSurveyNs : ++ticks_ % 8 == 0;
  if (survey) {
    const double seconds = static_cast<double>(now - last_survey_ns_) * 1e-9;
    last_survey_ns_ = now;
    SurveyIndexes();
    const uint64_t put_bytes = state_.counters.Sum(Count::kPutBytes);
    const uint64_t written = put_bytes - std::exchange(last_put_bytes_, put_bytes);
    if (idle()) ForgetRing(static_cast<double>(written) / seconds);
    Share();
  } else if (threads && HasGrown()) {
    SurveyIndexes();
    Fit();
  }
  if (threads ? now - last_decision_ns_ > kDecisionNs : survey) {
    const double seconds = static_cast<double>(now - last_decision_ns_) * 1e-9;
    Fit();
    if (Decide(threads ? std::min(seconds / kHeatSeconds, 1.0) : 0.5)) last_decision_ns_ = now;
  }
  if (!survey) return;
  arbiter_->Spread(munks_.ReadsAreSpread(CacheBytes()), munks_.bytes());
  ApplyShares();
  FadeHeat();
  if (state_.trims_heap()) TrimHeap();
}

// `heat_share`: of a chunk's heat, what was read since the last decision. False: too few operations
// since then, which go on being counted.
bool BudgetKeeper::Decide(double heat_share) {
  CacheObservation munks, rows, blocks;
  munks.hits = state_.counters.Gets(Served::kMunk);
  munks.memory = munks_.bytes();
  if (state_.rows != nullptr) {
    const RowCache::Counts counts = state_.rows->counts();
    rows = {counts.hits, counts.ghost_hits, counts.misses, state_.rows->memory()};
  }
  if (state_.blocks != nullptr) {
    const BlockCache::Counts counts = state_.blocks->counts();
    blocks = {counts.hits, counts.ghost_hits, counts.misses, state_.blocks->memory()};
  }
  const auto since = [](const CacheObservation& now, const CacheObservation& last) {
    return CacheObservation{now.hits - last.hits, now.ghost_hits - last.ghost_hits,
                            now.misses - last.misses, now.memory};
  };
  CacheObservation munks_now = since(munks, last_munks_);
  munks_now.ghost_hits =
      static_cast<uint64_t>(static_cast<double>(munks_.HeatOutside()) * heat_share);
  const CacheObservation rows_now = since(rows, last_rows_);
  const CacheObservation blocks_now = since(blocks, last_blocks_);
  if (std::max({munks_now.operations(), rows_now.operations(), blocks_now.operations()}) <
      Arbiter::kLeastOperations) {
    return false;
  }
  last_munks_ = munks;
  last_rows_ = rows;
  last_blocks_ = blocks;
  arbiter_->Decide(munks_now, rows_now, blocks_now);
  ApplyShares();
  return true;
}

// What the ring does not need is no cache of anything: a store reads it when it opens, and writes it
// again from its beginning. It comes back from disk before that, so a writer waits.
void BudgetKeeper::ForgetRing(double bytes_per_second) {
  if (!policy_.KeepsRing(bytes_per_second)) {
    const kvdyno::MutexLock lock(state_.write_mutex);
    state_.ring->ForgetUnused();
  }
  ring_resident_ = state_.ring->resident();
}

void BudgetKeeper::FadeHeat() {
  const auto halve = [](std::atomic<uint32_t>* heat) {
    heat->store(heat->load(std::memory_order_relaxed) / 2, std::memory_order_relaxed);
  };
  for (const Chunk* chunk : state_.map().chunks()) {
    halve(&chunk->heat.reads);
    chunk->heat.old_reads = chunk->heat.reads.load(std::memory_order_relaxed);
    halve(&chunk->heat.scans);
    halve(&chunk->heat.log_reads);
  }
}

}  // namespace chunkstore
