// MunkKeeper: which chunks are held in memory as a whole; makes, remakes and gives up their munks.
// Under State::maintenance_mutex but for what it counts.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/state.h"
#include "maintenance/policy.h"

namespace chunkstore {

class MunkKeeper {
 public:
  // `stopped`: the store is closing, loading anything would be wasted.
  MunkKeeper(State* state, const Policy* policy, std::function<bool()> stopped)
      : state_(*state), policy_(*policy), stopped_(std::move(stopped)) {}

  // Bytes that munks of all chunks, or of one, take or would take, but for what was appended.
  uint64_t BytesOfAll() const;
  uint64_t BytesOf(const Chunk& chunk) const;
  // Whether so many bytes of munks would answer few more gets than their part of the data, whichever
  // chunks they hold. False where scans are most of the reads.
  bool ReadsAreSpread(uint64_t bytes) const;
  // The ghosts of munks: reads of the hottest chunks that another share of the same size would hold.
  uint64_t HeatOutside() const;
  void SetCapacity(uint64_t bytes) { capacity_ = bytes; }

  // Rebalances munks that were written to, and evicts those that nothing reads and the coldest
  // beyond the capacity.
  void MakeFit() { Fit(); }
  // The same, then loads the hottest chunks: any that was read while there is room, and one that is
  // much hotter in the place of others. True when it loaded some.
  bool Keep();
  // Pieces of a chunk's range, not in the map yet, take over its munk if it has one.
  void Divide(const Chunk& chunk, const std::vector<Chunk*>& pieces);

  uint64_t memory() const;  // that munks take now; bytes() counts what they may grow to
  void HeapWasTrimmed() { untrimmed_ = 0; }

  // From any thread, as of the last round.
  uint64_t bytes() const { return bytes_.load(); }
  uint64_t count() const { return count_.load(); }

 private:
  struct Survey {
    uint64_t bytes = 0;                                   // that munks take at their peaks
    bool grow = false;                                    // whether any is written to
    std::vector<std::pair<double, Chunk*>> held, wanted;  // heat and chunk; held: coldest first
    size_t coldest = 0;                                   // in held: those before were evicted
  };
  Survey Fit();
  void ChooseGrowth();
  // A munk's bytes when it is due to be rebalanced, for it grows by writes up to that. Counting
  // these, munks do not drive each other out only to be loaded again. Where all fit they do not, and
  // it is what they take now.
  uint64_t PeakBytes(uint64_t settled) const;
  uint64_t PeakBytes(const Munk& munk) const;
  void EvictColdest(Survey* munks);
  bool LoadSome(std::vector<Chunk*> chunks);
  Status Load(Chunk* chunk, std::unique_ptr<EntryCursor> entries);  // the funk's
  void Drop(Chunk* chunk);
  void Evict(Chunk* chunk);  // drops it, and counts it
  void FreeRetired();
  void HandDown(const Munk& munk);
  void Rebalance(Chunk* chunk);
  // New munks over these ranges, filled from the old one and following it from now on.
  std::vector<Munk*> Succeed(Munk* old,
                             const std::vector<std::pair<std::string, std::string>>& ranges);
  // Versions that a munk must be able to answer at: live snapshots, and the borders between stages,
  // at which a munk may be written out.
  std::vector<Version> Versions(Version* now);
  Version SettledWrites() const;

  State& state_;
  const Policy& policy_;
  std::function<bool()> stopped_;
  uint64_t capacity_ = 0;
  double growth_ = 0;     // of a munk's settled bytes, before it is rebalanced
  bool all_fit_ = false;  // munks of all chunks
  // Memory of munks that went which the heap has kept: the process still takes it.
  uint64_t untrimmed_ = 0;
  std::atomic<uint64_t> bytes_{0}, count_{0};
};

}  // namespace chunkstore
