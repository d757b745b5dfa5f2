// Munks: which chunks are held in memory as a whole, made, remade and given up.
#include <algorithm>
#include <utility>

#include "core/collector.h"
#include "maintenance/maintenance.h"
#include "testing/moments.h"
#include "testing/seeded_bugs.h"

namespace chunkstore {

namespace {

constexpr uint32_t kWarm = 8;  // reads since the last halvings before a munk is considered
constexpr uint64_t kLoadsPerRound = 16;  // so that loading never delays a flush for long
constexpr double kBetter = 2;  // how much hotter a newcomer must be than whom it displaces

// Reads per byte; a scan is worth several gets, for it saves a read from disk in every chunk.
double HeatOf(const Chunk& chunk, uint64_t bytes) {
  const double reads = chunk.heat.reads.load(std::memory_order_relaxed);
  const double scans = chunk.heat.scans.load(std::memory_order_relaxed);
  return (reads + 4 * scans) / static_cast<double>(std::max<uint64_t>(bytes, 1));
}

bool Warm(const Chunk& chunk) {
  return chunk.heat.reads.load(std::memory_order_relaxed) +
             4 * chunk.heat.scans.load(std::memory_order_relaxed) >=
         kWarm;
}

// A munk's bytes when it is due to be rebalanced, for it grows by writes up to that. Counting
// these, munks do not drive each other out only to be loaded again.
uint64_t PeakBytes(uint64_t settled) { return settled + settled / 2; }

uint64_t PeakBytes(const Munk& munk) {
  const uint64_t memory = munk.memory();
  return std::max(memory, PeakBytes(memory - std::min<uint64_t>(memory, munk.appended_memory())));
}

// Of the munk that a chunk would get: entries cost some bytes each beyond key and value.
uint64_t ExpectedPeakBytes(const Chunk& chunk) {
  const Funk& funk = chunk.funk();
  return PeakBytes(funk.bytes() + 64 * funk.entries() + 4096);
}

}  // namespace

std::vector<Version> Maintenance::MunkVersions(Version* now) {
  std::vector<Version> versions = state_.snapshots.Live(now);
  versions.push_back(state_.manifest->state().flushed_version);
  {
    const std::lock_guard lock(state_.write_mutex);
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
Version Maintenance::SettledWrites() const {
  if (Seeded(Bug::kForgetsLateWrites)) return kNewest;
  return state_.slots.SettledUpTo(state_.clock.load());
}

// The munk is shown to writers before it is filled: every write from then on enters it, and every
// write before is in the stages once nothing is pending. The copy of the stage list is taken after
// that.
Status Maintenance::LoadMunk(Chunk* chunk) {
  auto* munk = new Munk(chunk->min_key, chunk->max_key, &state_.spare_pages);
  const Version settled = SettledWrites();
  chunk->Exchange(munk);
  Reached(Moment::kMunkShown);
  Version now = 0;
  Collector collector(MunkVersions(&now), settled);
  state_.slots.WaitForPending(now);

  const Funk& funk = chunk->funk();
  const ReadContext context{state_.segments.get(), nullptr, false, state_.options.verify_checksums};
  std::vector<std::unique_ptr<EntryCursor>> sources;
  for (const auto& stage : state_.stages.load()->stages) {
    sources.push_back(std::make_unique<StageIndex::Cursor>(stage->NewCursor()));
  }
  for (auto run = funk.log->runs().rbegin(); run != funk.log->runs().rend(); ++run) {
    sources.push_back((*run)->NewCursor(context, (*run)->extent().length));
  }
  if (funk.table != nullptr) {
    sources.push_back(funk.table->NewCursor(context, funk.table->extent().length));
  }
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
    EvictMunk(chunk);
    return status;
  }
  munk->Activate();
  state_.counters.Add(Count::kMunkLoads);
  return Status::Ok();
}

void Maintenance::EvictMunk(Chunk* chunk) {
  chunk->unsettled.store(true);
  Munk* munk = chunk->Exchange(nullptr);
  state_.slots.WaitForPending(state_.clock.load());
  chunk->unsettled.store(false);
  state_.slots.RetireObject(munk);
}

std::vector<Munk*> Maintenance::SucceedMunk(
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
  Collector collector(MunkVersions(&now), settled);
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

void Maintenance::RebalanceMunk(Chunk* chunk) {
  const std::vector<Munk*> next = SucceedMunk(chunk->munk(), {{chunk->min_key, chunk->max_key}});
  state_.slots.RetireObject(chunk->Exchange(next.front()));
  state_.counters.Add(Count::kMunkRebalances);
}

// Rebalances munks that were written to, or evicts them when hardly anybody reads them; evicts the
// coldest while there are too many, and loads the hottest chunks that fit, or that are much hotter
// than what they displace.
void Maintenance::KeepMunks() {
  uint64_t bytes = 0;
  std::vector<std::pair<double, Chunk*>> held, wanted;
  const auto evict = [this](Chunk* chunk) {
    EvictMunk(chunk);
    state_.slots.Reclaim();
    state_.counters.Add(Count::kMunkEvictions);
  };
  for (Chunk* chunk : state_.map().chunks()) {
    if (Munk* munk = chunk->munk(); munk != nullptr) {
      if (policy_.AppendedEnough(*munk)) {
        if (!Warm(*chunk)) {
          evict(chunk);
          continue;
        }
        RebalanceMunk(chunk);
      }
      state_.slots.Reclaim();  // not two of every munk at a time
      const uint64_t peak = PeakBytes(*chunk->munk());
      bytes += peak;
      held.emplace_back(HeatOf(*chunk, peak), chunk);
    } else if (munk_capacity_ > 0 && chunk->failed_rounds == 0 && Warm(*chunk)) {
      wanted.emplace_back(HeatOf(*chunk, ExpectedPeakBytes(*chunk)), chunk);
    }
  }
  std::sort(held.begin(), held.end());  // coldest first
  size_t coldest = 0;
  const auto evict_coldest = [&] {
    Chunk* chunk = held[coldest++].second;
    bytes -= std::min(bytes, PeakBytes(*chunk->munk()));
    evict(chunk);
  };
  while (bytes > munk_capacity_ && coldest < held.size()) evict_coldest();

  const size_t loads = std::min<size_t>(wanted.size(), kLoadsPerRound);
  std::partial_sort(wanted.begin(), wanted.begin() + static_cast<long>(loads), wanted.end(),
                    std::greater<>());
  for (size_t i = 0; i < loads; ++i) {
    auto [heat, chunk] = wanted[i];
    const uint64_t needed = ExpectedPeakBytes(*chunk);
    if (needed > munk_capacity_ / 2) continue;
    while (bytes + needed > munk_capacity_ && coldest < held.size() &&
           held[coldest].first * kBetter < heat) {
      evict_coldest();
    }
    if (bytes + needed > munk_capacity_) continue;
    if (!LoadMunk(chunk).ok()) {
      chunk->failed_rounds = kRoundsAlone;
      continue;
    }
    bytes += PeakBytes(*chunk->munk());
    held.emplace_back(heat, chunk);
  }
  munk_bytes_ = bytes;
  munks_ = held.size() - coldest;
}

}  // namespace chunkstore
