// Policy: which chunks to reorganise, merge, load and evict. Pure: a survey of the chunks in, jobs
// out; no input/output, no clock, no locks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "chunkstore/options.h"
#include "core/chunk.h"

namespace chunkstore {

inline constexpr uint64_t kRoundBytes = uint64_t{32} << 20;  // input of a round's jobs
// The same where they only save later work: PayDebt waits for the round.
inline constexpr uint64_t kLeisureBytes = uint64_t{8} << 20;
inline constexpr uint64_t kRoundsAlone = 20;  // a chunk that failed is left alone for so many

// What to reorganise: neighbours that become one, or a single chunk; cut where it is too large.
struct Job {
  std::vector<Chunk*> chunks;
  uint64_t bytes = 0;  // of tables and logs to read
};

class Policy {
 public:
  explicit Policy(const Options& resolved);

  uint64_t LogLimit(const Chunk& chunk) const;  // bytes
  // Bytes of all logs together at which writers are slowed down, `debt` being what they are now.
  // Less where the logs' indexes take more than a quarter of the budget, as those of small rows
  // may.
  uint64_t DebtLimit(uint64_t live_bytes, uint64_t debt, uint64_t log_index_bytes) const;
  // Nanoseconds that a written byte is to be delayed by: none up to the limit, then growing.
  double SlowdownNsPerByte(uint64_t debt, uint64_t limit) const;

  // Jobs that are due, in key order, up to about `bytes` of input: the largest debt first, chunks
  // whose log is over its limit, then the largest logs as long as all logs together are over
  // `limit`, each with neighbours that are about as worthwhile; then underfull neighbours.
  std::vector<Job> Due(const ChunkMap& map, uint64_t debt, uint64_t limit, uint64_t bytes) const;

  // When scans began to read logs from disk: `since_ns`, or now if none did in the last seconds.
  static uint64_t ScansSince(const ChunkMap& map, uint64_t now_ns, uint64_t since_ns);
  // Jobs, in key order, up to about `bytes` of input, for chunks without a munk whose logs cost scans
  // more than a merge, if scans go on as they are: the one with most, and such after it. A merge is
  // taken to save what a log costs for as long as the log has grown, and no longer than a minute.
  // None before scans have read logs for two seconds (since `since_ns`): they may soon be over.
  std::vector<Job> DueForScans(const ChunkMap& map, uint64_t now_ns, uint64_t since_ns,
                               uint64_t bytes) const;

  // Jobs, in key order, for chunks of which a part lies in one of these segments (ascending), which
  // are mostly dead: where the file system punches no holes, space comes back when a whole file
  // dies.
  static std::vector<Job> DueForSpace(const ChunkMap& map, const std::vector<uint64_t>& sparse,
                                      uint64_t bytes);

  // Jobs, in key order, for all chunks that hold anything, from this key on. `*from` is then where
  // to go on, empty at the end.
  static std::vector<Job> All(const ChunkMap& map, std::string* from, uint64_t bytes);

  // Bytes of logs that neighbours together may have to be reorganised as a group: logs that are
  // read at once.
  uint64_t GroupBytes() const { return std::min(4 * options_.chunk_size, uint64_t{4} << 20); }
  // Bytes at which the pieces of an output are cut: the whole when it fits one chunk.
  uint64_t PieceBytes(uint64_t input_bytes) const;
  // The ring's free part stays in memory at this rate of writes.
  bool KeepsRing(double bytes_per_second) const;
  // A munk rebalance pays: what was appended is more than this share of the rest.
  bool AppendedEnough(const Munk& munk, double growth) const;

 private:
  bool Merges(const Chunk& left, const Chunk& right) const;
  // The neighbours, as positions [from, to), to reorganise with the chunk at that position.
  std::pair<size_t, size_t> GroupOf(const ChunkMap& map, size_t at) const;
  Options options_;
};

}  // namespace chunkstore
