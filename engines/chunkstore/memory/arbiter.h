// Arbiter: shares the adaptive part of the memory budget among munks, rows and blocks.
// Pure decision: observations in, sizes out; no threads, no clock, no caches. The benefit of a byte
// is estimated from ghost lists (Megiddo & Modha 2003, ARC; here one ghost list per cache): what a
// slightly larger cache would have served, times what a service saves, per byte it would have cost.
#pragma once

#include <array>
#include <cstdint>

namespace chunkstore {

struct CacheShare {
  uint64_t bytes = 0;
  bool adaptive = false;  // false: fixed by an option
};

struct CacheShares {
  CacheShare munks, rows, blocks;
};

// Since the last decision.
struct CacheObservation {
  uint64_t operations() const { return hits + misses; }

  uint64_t hits = 0;
  uint64_t ghost_hits = 0;  // would have been served by a cache of twice the size
  uint64_t misses = 0;
  uint64_t memory = 0;  // bytes in use
};

class Arbiter {
 public:
  // The part of the munks' share that loading leaves free, for their sizes are estimates; where all
  // data fit, for what is appended to them.
  static constexpr uint64_t kSpareShare = 16;
  // Fewer are chance: nothing is decided.
  static constexpr uint64_t kLeastOperations = 1000;

  // Fixed shares are taken out of the total first, all smaller by the same part where they exceed
  // it. The rest starts as a third each; where munks could hold half of all data or more, they start
  // with all but the floors, for they are loaded in large reads and the other caches row by row.
  Arbiter(uint64_t total, uint64_t all_munks, CacheShares shares);
  const CacheShares& shares() const { return shares_; }
  // The budget for caches, and what munks of all chunks would take. While all of them fit, they get
  // the room at once, for nothing serves faster; else adaptive shares keep their proportions.
  void SetTotal(uint64_t total, uint64_t all_munks);
  // Moves at most 1/32 of the adaptive bytes, 1/8 where one earns four times as much as the other,
  // from the share that earns least to the one that earns most; nothing when the difference is
  // within noise (too few operations, or below 20 %), or all data fit as munks. No adaptive
  // share falls below 1/64 of the adaptive bytes, which shows what more of it would earn; none that
  // is filling is taken from. True when something moved.
  bool Decide(const CacheObservation& munks, const CacheObservation& rows,
              const CacheObservation& blocks);
  // Whether gets are spread over the chunks, so that no munk earns much more than another. Then
  // munks go down to their floor and rows get the rest, at once: each munk that goes takes all its
  // rows with it, so steps from munks to rows would all lose at first, though rows alone miss far
  // less. Until gets are no longer spread, Decide moves nothing between these two. Before, munks
  // fill their share, of which `munk_memory` is in use: large reads bring them, and they hand their
  // rows down.
  void Spread(bool spread, uint64_t munk_memory);

 private:
  uint64_t FitFixed(uint64_t total);

  CacheShares asked_;
  CacheShares shares_;
  uint64_t adaptive_total_ = 0;
  bool all_fit_ = false;
  bool spread_ = false;
  std::array<uint64_t, 3> memory_{};  // in use at the last decision, in the order of CacheShares
};

}  // namespace chunkstore
