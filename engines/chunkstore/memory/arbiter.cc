#include "memory/arbiter.h"

#include <algorithm>
#include <array>
#include <utility>

namespace chunkstore {
namespace {

constexpr uint64_t kStepShare = 32;     // of the adaptive bytes, at most, in one decision
constexpr uint64_t kLongStepShare = 8;  // the same where the difference is plain
constexpr double kPlain = 4;
constexpr uint64_t kFloorShare = 64;    // of the adaptive bytes, for each adaptive share
constexpr uint64_t kMinGhostHits = 20;  // fewer are chance
constexpr double kNoise = 1.2;
constexpr uint64_t kGrowth = 128;  // of a share: less between two decisions is no filling
// What a service from memory saves beyond a possible read from disk, in reads from disk: the
// search in log and table, block cache hit or not.
constexpr double kSearch = 0.02;

using Shares = std::array<CacheShare*, 3>;
Shares List(CacheShares* shares) { return {&shares->munks, &shares->rows, &shares->blocks}; }

double MissRatio(const CacheObservation& seen) {
  const uint64_t all = seen.operations();
  return all == 0 ? 1 : static_cast<double>(seen.misses) / static_cast<double>(all);
}

bool IsFilled(const CacheShare& share, const CacheObservation& seen) {
  return seen.memory >= share.bytes - share.bytes / 8;
}

// What one more byte would have earned. A share that is not filled gains nothing by more.
double EarnedPerByte(const CacheShare& share, const CacheObservation& seen, double saving) {
  if (share.bytes == 0 || !IsFilled(share, seen)) return 0;
  if (seen.ghost_hits < kMinGhostHits) return 0;
  return static_cast<double>(seen.ghost_hits) * saving / static_cast<double>(share.bytes);
}

}  // namespace

Arbiter::Arbiter(uint64_t total, uint64_t all_munks, CacheShares shares)
    : asked_(shares), shares_(shares) {
  SetTotal(total, all_munks);
}

void Arbiter::SetTotal(uint64_t total, uint64_t all_munks) {
  const uint64_t fixed = FitFixed(total);
  uint64_t left = 0;  // adaptive shares that have not got their part yet
  for (const CacheShare* share : List(&shares_)) left += share->adaptive ? 1 : 0;
  const uint64_t adaptive = total - std::min(total, fixed);
  const uint64_t others = (shares_.rows.adaptive ? 1 : 0) + (shares_.blocks.adaptive ? 1 : 0);
  const bool fitted = all_fit_;
  const uint64_t floor = adaptive / kFloorShare;
  const uint64_t most = shares_.munks.adaptive ? adaptive - others * floor : 0;
  all_fit_ = most > 0 && all_munks <= most - most / kSpareShare;
  const bool begins = adaptive_total_ == 0 || (fitted && !all_fit_);
  if (begins || all_fit_) spread_ = false;
  if (begins) adaptive_total_ = 0;
  const double count = static_cast<double>(left);
  uint64_t rest = adaptive;
  for (CacheShare* share : List(&shares_)) {
    if (!share->adaptive) continue;
    const double part = adaptive_total_ == 0 ? 1 / count
                                             : static_cast<double>(share->bytes) /
                                                   static_cast<double>(adaptive_total_);
    // The last one takes what rounding left.
    share->bytes =
        --left == 0 ? rest
                    : std::min(rest, static_cast<uint64_t>(static_cast<double>(adaptive) * part));
    rest -= share->bytes;
  }
  adaptive_total_ = adaptive;
  if (!all_fit_ && !(begins && most > 0 && all_munks / 2 <= most)) return;
  shares_.munks.bytes = most;
  for (CacheShare* share : {&shares_.rows, &shares_.blocks}) {
    if (share->adaptive) share->bytes = floor;
  }
}

// Returns what they take together.
uint64_t Arbiter::FitFixed(uint64_t total) {
  uint64_t fixed = 0;
  for (const CacheShare* share : List(&asked_)) fixed += share->adaptive ? 0 : share->bytes;
  const double part = fixed > total ? static_cast<double>(total) / static_cast<double>(fixed) : 1;
  const Shares asked = List(&asked_);
  const Shares shares = List(&shares_);
  for (size_t i = 0; i < shares.size(); ++i) {
    if (shares[i]->adaptive) continue;
    shares[i]->bytes = static_cast<uint64_t>(static_cast<double>(asked[i]->bytes) * part);
  }
  return std::min(fixed, total);
}

bool Arbiter::Decide(const CacheObservation& munks, const CacheObservation& rows,
                     const CacheObservation& blocks) {
  if (all_fit_) return false;
  // A read goes through several caches: the busiest comes closest to their number.
  if (std::max({munks.operations(), rows.operations(), blocks.operations()}) < kLeastOperations) {
    return false;
  }
  const double from_disk = MissRatio(blocks);
  const std::array<double, 3> earned = {
      EarnedPerByte(shares_.munks, munks, kSearch + MissRatio(rows) * from_disk),
      EarnedPerByte(shares_.rows, rows, kSearch + from_disk),
      EarnedPerByte(shares_.blocks, blocks, 1)};
  const Shares shares = List(&shares_);
  const std::array<const CacheObservation*, 3> seen = {&munks, &rows, &blocks};
  std::array<bool, 3> filling{};  // what it was given has not shown yet what it earns
  for (size_t i = 0; i < shares.size(); ++i) {
    const uint64_t before = std::exchange(memory_[i], seen[i]->memory);
    filling[i] =
        !IsFilled(*shares[i], *seen[i]) && seen[i]->memory > before + shares[i]->bytes / kGrowth;
  }
  const uint64_t floor = adaptive_total_ / kFloorShare;
  constexpr size_t kNone = 3;
  size_t most = kNone;
  size_t least = kNone;
  for (size_t i = 0; i < shares.size(); ++i) {
    if (!shares[i]->adaptive) continue;
    if (most == kNone || earned[i] > earned[most]) most = i;
    if (shares[i]->bytes > floor && !filling[i] && (least == kNone || earned[i] < earned[least]))
      least = i;
  }
  if (most == kNone || least == kNone || earned[most] <= earned[least] * kNoise) return false;
  constexpr size_t kBlocks = 2;
  if (spread_ && most != kBlocks && least != kBlocks) return false;
  const bool plain = earned[most] > kPlain * earned[least];
  const uint64_t step = std::min(adaptive_total_ / (plain ? kLongStepShare : kStepShare),
                                 shares[least]->bytes - floor);
  shares[least]->bytes -= step;
  shares[most]->bytes += step;
  return step > 0;
}

void Arbiter::Spread(bool spread, uint64_t munk_memory) {
  const bool can = !all_fit_ && shares_.munks.adaptive && shares_.rows.adaptive;
  const uint64_t floor = adaptive_total_ / kFloorShare;
  if (spread && can && !spread_) {
    if (munk_memory < shares_.munks.bytes - shares_.munks.bytes / 8) return;
    shares_.rows.bytes += shares_.munks.bytes - std::min(shares_.munks.bytes, floor);
    shares_.munks.bytes = std::min(shares_.munks.bytes, floor);
  }
  spread_ = spread && can;
}

}  // namespace chunkstore
