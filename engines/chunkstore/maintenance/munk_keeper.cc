#include "maintenance/munk_keeper.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/collector.h"
#include "hooks/moments.h"
#include "hooks/seeded_bugs.h"
#include "kvdyno/base/hash.h"
#include "maintenance/job_reader.h"
#include "memory/arbiter.h"

namespace chunkstore {

namespace {

constexpr uint32_t kWarm = 8;  // reads since the last halvings that are worth displacing another
constexpr uint64_t kLoadBytes = uint64_t{16} << 20;  // a round, so that no flush waits for long
constexpr uint64_t kFewGets = 8;                     // of a chunk: what so few show is chance
constexpr double kSpread = 0.33;  // of the misses that chunks read alike would have
constexpr double kBetter = 2;     // how much hotter a newcomer must be than what it displaces
// What writes may add to a munk's settled bytes before it is rebalanced: a rebalance copies it all.
constexpr double kLeastGrowth = 0.125;
constexpr double kMostGrowth = 0.5;
constexpr size_t kFewRetired = 4;  // objects that readers may still be in

uint32_t Reads(const Chunk& chunk) {
  return chunk.heat.reads.load(std::memory_order_relaxed) +
         4 * chunk.heat.scans.load(std::memory_order_relaxed);
}

// Reads per byte; a scan is worth several gets, for it saves a read from disk in every chunk.
double HeatOf(const Chunk& chunk, uint64_t bytes) {
  return static_cast<double>(Reads(chunk)) / static_cast<double>(std::max<uint64_t>(bytes, 1));
}

uint64_t SettledBytes(const Munk& munk) {
  const uint64_t memory = munk.memory();
  return memory - std::min<uint64_t>(memory, munk.appended_memory());
}

// One that is hardly written to is not expected to grow; an empty list takes some bytes too.
bool Grows(const Munk& munk) { return munk.appended_memory() > 4096 + munk.memory() / 64; }

// Size of the munk that a chunk would get: entries cost some bytes beyond key and value. Most of a
// log are newer versions of what the table has.
uint64_t ExpectedBytes(const Chunk& chunk) {
  const Funk& funk = chunk.funk();
  const uint64_t more = std::max(funk.table_bytes(), funk.log_bytes());
  const uint64_t expected = more + (funk.bytes() - more) / 4;
  return expected + 64 * funk.entries() * expected / std::max<uint64_t>(funk.bytes(), 1) + 4096;
}

}  // namespace

std::vector<Version> MunkKeeper::Versions(Version* now) {
  std::vector<Version> versions = state_.snapshots.Live(now);
  versions.push_back(state_.manifest->state().flushed_version);
  {
    const kvdyno::MutexLock lock(state_.write_mutex);
    for (const auto& stage : state_.stages.load()->stages) {
      if (stage != state_.active) versions.push_back(stage->last());
    }
  }
  std::sort(versions.begin(), versions.end());
  return versions;
}

// Called before writers see a new munk. Every write that enters the munk directly is newer than the
// result, because it is pending now or begins later. So a deletion at or below the result hides
// nothing once its older versions are dropped, but an older write may still follow a newer
// deletion.
Version MunkKeeper::SettledWrites() const {
  if (Seeded(Bug::kForgetsLateWrites)) return kNewest;
  return state_.slots.SettledUpTo(state_.clock.load());
}

// The munk is shown to writers before it is filled: every write from then on enters it, and every
// write before is in the stages once nothing is pending. The copy of the stage list is taken after
// that.
Status MunkKeeper::Load(Chunk* chunk, std::unique_ptr<EntryCursor> entries) {
  auto* munk = new Munk(chunk->min_key, chunk->max_key, &state_.spare_pages);
  const Version settled = SettledWrites();
  chunk->Exchange(munk);
  Reached(Moment::kMunkShown);
  Version now = 0;
  Collector collector(Versions(&now), settled);
  state_.slots.WaitForPending(now);

  std::vector<std::unique_ptr<EntryCursor>> sources;
  for (const auto& stage : state_.stages.load()->stages) {
    sources.push_back(std::make_unique<StageIndex::Cursor>(stage->NewCursor()));
  }
  sources.push_back(std::move(entries));
  const Funk& funk = chunk->funk();
  // Most of a log are newer versions of what the table has.
  munk->Expect(funk.entries(), std::max(funk.table_bytes(), funk.log_bytes()));
  const auto fill = [munk](const Entry& entry) {
    munk->Fill(entry);
    return Status::Ok();
  };
  const std::unique_ptr<EntryCursor> cursor = NewMergingCursor(std::move(sources));
  for (cursor->Seek(chunk->min_key); cursor->Valid(); cursor->Next()) {
    const Entry& entry = cursor->entry();
    if (!munk->Covers(entry.key)) break;
    if (entry.version > now) continue;
    if (const Status status = collector.Add(entry, fill); !status.ok()) return status;
  }
  if (const Status status = cursor->status(); !status.ok()) {
    Drop(chunk);
    return status;
  }
  munk->Activate();
  state_.counters.Add(Count::kMunkLoads);
  return Status::Ok();
}

void MunkKeeper::Drop(Chunk* chunk) {
  chunk->unsettled.store(true);
  Munk* munk = chunk->Exchange(nullptr);
  state_.slots.WaitForPending(state_.clock.load());
  chunk->unsettled.store(false);
  state_.slots.RetireObject(munk);
}

std::vector<Munk*> MunkKeeper::Succeed(
    Munk* old, const std::vector<std::pair<std::string, std::string>>& ranges) {
  std::vector<Munk*> munks;
  munks.reserve(ranges.size());
  for (const auto& [min_key, max_key] : ranges) {
    munks.push_back(new Munk(min_key, max_key, &state_.spare_pages));
  }
  const Version settled = SettledWrites();
  old->SetSuccessors(munks);
  Reached(Moment::kMunkShown);
  Version now = 0;
  Collector collector(Versions(&now), settled);
  state_.slots.WaitForPending(now);
  size_t at = 0;
  const auto fill = [&](const Entry& entry) {
    while (!munks[at]->Covers(entry.key)) ++at;
    munks[at]->Fill(entry);
    return Status::Ok();
  };
  const std::unique_ptr<EntryCursor> cursor = old->NewCursor();
  for (cursor->Seek({}); cursor->Valid(); cursor->Next()) {
    if (cursor->entry().version > now) continue;
    if (!collector.Add(cursor->entry(), fill).ok()) break;
  }
  for (Munk* munk : munks) munk->Activate();
  return munks;
}

void MunkKeeper::Divide(const Chunk& chunk, const std::vector<Chunk*>& pieces) {
  if (chunk.munk() == nullptr) return;
  std::vector<std::pair<std::string, std::string>> ranges;
  ranges.reserve(pieces.size());
  for (const Chunk* piece : pieces) ranges.emplace_back(piece->min_key, piece->max_key);
  const std::vector<Munk*> munks = Succeed(chunk.munk(), ranges);
  for (size_t i = 0; i < pieces.size(); ++i) pieces[i]->Exchange(munks[i]);
}

void MunkKeeper::Rebalance(Chunk* chunk) {
  const std::vector<Munk*> next = Succeed(chunk->munk(), {{chunk->min_key, chunk->max_key}});
  state_.slots.RetireObject(chunk->Exchange(next.front()));
  state_.counters.Add(Count::kMunkRebalances);
}

uint64_t MunkKeeper::BytesOfAll() const {
  uint64_t bytes = 0;
  for (const Chunk* chunk : state_.map().chunks()) bytes += BytesOf(*chunk);
  return bytes;
}

uint64_t MunkKeeper::memory() const {
  uint64_t bytes = 0;
  for (const Chunk* chunk : state_.map().chunks()) {
    if (chunk->munk() != nullptr) bytes += chunk->munk()->memory();
  }
  return bytes;
}

uint64_t MunkKeeper::BytesOf(const Chunk& chunk) const {
  return chunk.munk() != nullptr ? SettledBytes(*chunk.munk()) : ExpectedBytes(chunk);
}

uint64_t MunkKeeper::PeakBytes(uint64_t settled) const {
  if (all_fit_) return settled;
  return settled + static_cast<uint64_t>(growth_ * static_cast<double>(settled));
}

uint64_t MunkKeeper::PeakBytes(const Munk& munk) const {
  return Grows(munk) ? std::max<uint64_t>(munk.memory(), PeakBytes(SettledBytes(munk)))
                     : munk.memory();
}

// A rebalance copies what is in memory; a chunk without a munk reads from disk. So munks grow less
// where room is short, and where all fit but for what was appended, each is rebalanced.
void MunkKeeper::ChooseGrowth() {
  const auto all = static_cast<double>(std::max<uint64_t>(BytesOfAll(), 1));
  const double left = static_cast<double>(capacity_) / all - 1;
  all_fit_ = left >= 1.0 / Arbiter::kSpareShare;
  growth_ = std::clamp(left, kLeastGrowth, kMostGrowth);
  if (all_fit_ && memory() > capacity_) growth_ = 0;
}

bool MunkKeeper::ReadsAreSpread(uint64_t bytes) const {
  struct Use {
    double heat;
    uint64_t bytes, gets;
  };
  std::vector<Use> uses;
  // Since the last halving: before, there may have been less data, all in memory, and far more gets.
  uint64_t gets = 0;
  uint64_t reads = 0;
  uint64_t scans = 0;
  uint64_t data = 0;
  for (const Chunk* chunk : state_.map().chunks()) {
    const uint64_t heat = chunk->heat.reads.load(std::memory_order_relaxed);
    const uint64_t old = chunk->heat.old_reads.load(std::memory_order_relaxed);
    const uint64_t recent = heat - std::min(heat, old);
    const uint64_t size = BytesOf(*chunk);
    uses.push_back({static_cast<double>(recent) / static_cast<double>(std::max<uint64_t>(size, 1)),
                    size, recent});
    gets += recent;
    reads += heat;
    scans += chunk->heat.scans.load(std::memory_order_relaxed);
    data += size;
  }
  if (gets < kFewGets * uses.size() || scans > reads) return false;
  std::sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) { return a.heat > b.heat; });
  uint64_t held = 0;
  uint64_t answered = 0;
  for (const Use& use : uses) {
    if (held + use.bytes > bytes) break;
    held += use.bytes;
    answered += use.gets;
  }
  const double missed = 1 - static_cast<double>(answered) / static_cast<double>(gets);
  return missed > kSpread * (1 - static_cast<double>(held) / static_cast<double>(data));
}

uint64_t MunkKeeper::HeatOutside() const {
  std::vector<std::pair<uint32_t, uint64_t>> cold;  // reads, bytes
  for (const Chunk* chunk : state_.map().chunks()) {
    const uint32_t reads = chunk->heat.reads.load(std::memory_order_relaxed);
    if (chunk->munk() == nullptr && reads > 0) cold.emplace_back(reads, chunk->funk().bytes());
  }
  std::sort(cold.begin(), cold.end(), std::greater<>());
  uint64_t room = capacity_;
  uint64_t heat = 0;
  for (const auto& [reads, bytes] : cold) {
    if (bytes > room) break;
    room -= bytes;
    heat += reads;
  }
  return heat;
}

// Rows of a munk that goes stay in the row cache while it has room: reads from disk would bring them
// one by one. Where munks have more than their share, as when rows get it instead, only what the
// others and the heap leave. Only where the newest version is flushed, for that is what the row
// cache knows; no flush comes in between.
void MunkKeeper::HandDown(const Munk& munk) {
  if (state_.rows == nullptr) return;
  const Version flushed = state_.manifest->state().flushed_version;
  const uint64_t held = bytes_.load() + munk.memory();
  const uint64_t over = held - std::min<uint64_t>(held, capacity_);
  const uint64_t taken = state_.rows->memory() + over + untrimmed_;
  uint64_t room = state_.rows->capacity() - std::min<uint64_t>(state_.rows->capacity(), taken);
  const std::unique_ptr<EntryCursor> cursor = munk.NewCursor();
  std::string last;
  bool has_last = false;
  for (cursor->Seek({}); cursor->Valid(); cursor->Next()) {
    const Entry& entry = cursor->entry();
    if (has_last && entry.key == last) continue;
    last.assign(entry.key);
    has_last = true;
    const size_t bytes = RowCache::kRowOverhead + entry.key.size() + entry.value.size();
    if (bytes > room) return;
    if (entry.version > flushed) continue;
    room -= bytes;
    const uint64_t hash = kvdyno::Hash64(entry.key);
    state_.rows->Insert(entry.key, hash, entry, state_.rows->Stamp(hash));
  }
}

void MunkKeeper::Evict(Chunk* chunk) {
  if (const Munk* munk = chunk->ActiveMunk(); munk != nullptr) {
    HandDown(*munk);
    if (state_.trims_heap()) untrimmed_ += munk->heap_memory();
  }
  Drop(chunk);
  FreeRetired();
  state_.counters.Add(Count::kMunkEvictions);
}

// Not two of every munk at a time: a reader that has lost its CPU keeps all that are retired
// meanwhile, and nothing counts them.
void MunkKeeper::FreeRetired() {
  if (state_.slots.retired() > kFewRetired) state_.slots.WaitForReaders();
  state_.slots.Reclaim();
}

void MunkKeeper::EvictColdest(Survey* munks) {
  Chunk* chunk = munks->held[munks->coldest++].second;
  munks->bytes -= std::min(munks->bytes, PeakBytes(*chunk->munk()));
  bytes_ = munks->bytes;  // their rows are counted already
  Evict(chunk);
}

MunkKeeper::Survey MunkKeeper::Fit() {
  Survey munks;
  ChooseGrowth();
  for (Chunk* chunk : state_.map().chunks()) {
    if (Munk* munk = chunk->munk(); munk != nullptr) {
      if (policy_.AppendedEnough(*munk, growth_)) {
        if (Reads(*chunk) < kWarm) {
          Evict(chunk);
          continue;
        }
        Rebalance(chunk);
      }
      FreeRetired();
      munks.grow |= Grows(*chunk->munk());
      const uint64_t peak = PeakBytes(*chunk->munk());
      munks.bytes += peak;
      munks.held.emplace_back(HeatOf(*chunk, peak), chunk);
    } else if (capacity_ > 0 && chunk->failed_rounds == 0 && Reads(*chunk) > 0) {
      munks.wanted.emplace_back(HeatOf(*chunk, ExpectedBytes(*chunk)), chunk);
    }
  }
  std::sort(munks.held.begin(), munks.held.end());
  while (munks.bytes > capacity_ && munks.coldest < munks.held.size()) EvictColdest(&munks);
  bytes_ = munks.bytes;
  count_ = munks.held.size() - munks.coldest;
  return munks;
}

bool MunkKeeper::Keep() {
  Survey munks = Fit();
  if (stopped_()) return false;
  // Sizes are estimates, and some munks grow: without room to spare they would be evicted and
  // loaded in turn.
  const uint64_t spare = all_fit_ ? 0 : capacity_ / (munks.grow ? 8 : Arbiter::kSpareShare);
  const uint64_t room = capacity_ - spare;
  std::sort(munks.wanted.begin(), munks.wanted.end(), std::greater<>());
  std::vector<Chunk*> chosen;
  uint64_t chosen_bytes = 0;
  for (const auto& [heat, chunk] : munks.wanted) {
    const uint64_t expected = ExpectedBytes(*chunk);
    const uint64_t needed = munks.grow ? PeakBytes(expected) : expected;
    if (chosen_bytes >= kLoadBytes) break;
    if (needed > room / 2 && !all_fit_) continue;
    while (munks.bytes + needed > room && munks.coldest < munks.held.size() &&
           Reads(*chunk) >= kWarm && munks.held[munks.coldest].first * kBetter < heat) {
      EvictColdest(&munks);
    }
    if (munks.bytes + needed > room) continue;
    munks.bytes += needed;
    chosen_bytes += chunk->funk().bytes();
    chosen.push_back(chunk);
  }
  bytes_ = munks.bytes;
  count_ = munks.held.size() - munks.coldest + chosen.size();
  return LoadSome(std::move(chosen));
}

// In key order, for logs of neighbours are read together.
bool MunkKeeper::LoadSome(std::vector<Chunk*> chunks) {
  if (chunks.empty()) return false;
  std::sort(chunks.begin(), chunks.end(),
            [](const Chunk* a, const Chunk* b) { return a->min_key < b->min_key; });
  std::vector<Job> jobs;
  jobs.reserve(chunks.size());
  for (Chunk* chunk : chunks) jobs.push_back({{chunk}, chunk->funk().bytes()});
  JobReader reader(&state_, &policy_, &jobs, 0, jobs.size());
  bool loaded = false;
  for (Chunk* chunk : chunks) {
    if (Load(chunk, reader.Next()).ok()) {
      loaded = true;
    } else {
      chunk->failed_rounds = kRoundsAlone;
    }
  }
  return loaded;
}

}  // namespace chunkstore
