// Chunk, Funk and ChunkMap: a key range, its files, and the way from a key to its chunk.
// All three are read without locks by pinned threads (concurrency/slots.h) and replaced by
// background work, which retires what it replaced. They own no policy and do no input/output.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "funk/log.h"
#include "funk/sorted_run.h"
#include "memory/munk.h"
#include "memory/prefix_words.h"

namespace chunkstore {

// A chunk's files: a sorted table and the log of what was flushed since. Immutable.
struct Funk {
  std::shared_ptr<const SortedRun> table;  // null: nothing yet
  std::shared_ptr<const Log> log;          // never null, may be empty

  uint64_t table_bytes() const { return table ? table->extent().length : 0; }
  uint64_t log_bytes() const { return log->bytes(); }
  uint64_t bytes() const { return table_bytes() + log_bytes(); }
  uint64_t entries() const { return (table ? table->extent().entries : 0) + log->entries(); }
  bool empty() const { return table == nullptr && log->empty(); }
};

// How a chunk was used lately. Counted by readers without order, halved by background work every so
// many seconds: a count is, on average, what came in half as long again.
inline constexpr double kHeatHalvedSeconds = 0.9;
inline constexpr double kHeatSeconds = 1.5 * kHeatHalvedSeconds;
struct Heat {
  std::atomic<uint32_t> reads{0};
  std::atomic<uint32_t> old_reads{0};  // what the last halving left of them
  std::atomic<uint32_t> scans{0};
  std::atomic<uint32_t> log_reads{0};  // of the disk, by scans, for the chunk's log
};

class Chunk {
 public:
  // Takes the funk.
  Chunk(uint64_t chunk_id, std::string from, std::string to, std::unique_ptr<const Funk> funk)
      : id(chunk_id), min_key(std::move(from)), max_key(std::move(to)), funk_(funk.release()) {}
  ~Chunk() {
    delete funk_.load();
    delete munk_.load();
  }
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;

  const uint64_t id;
  const std::string min_key;  // inclusive
  const std::string max_key;  // exclusive; empty: no bound

  const Funk& funk() const { return *funk_.load(); }
  Munk* munk() const { return munk_.load(); }
  // The munk if it can serve reads, else null.
  Munk* ActiveMunk() const {
    Munk* munk = munk_.load();
    return munk != nullptr && munk->active() ? munk : nullptr;
  }

  // By background work only; both return what was there, to be retired.
  const Funk* Exchange(std::unique_ptr<const Funk> funk) { return funk_.exchange(funk.release()); }
  Munk* Exchange(Munk* munk) { return munk_.exchange(munk); }

  // A write enters the munk before it enters its stage's index. So when a munk goes, a read that
  // had seen the write there could be followed by one that misses it: while `unsettled`, readers
  // without a munk wait for pending writes first.
  std::atomic<bool> unsettled{false};

  alignas(64) mutable Heat heat;  // written by every read: not beside the pointers
  // By background work only.
  uint64_t failed_rounds = 0;   // rounds to leave it alone after an error
  uint64_t reorganised_ns = 0;  // when its log was last merged; 0: before the store was opened

 private:
  std::atomic<const Funk*> funk_;
  std::atomic<Munk*> munk_{nullptr};
};

// All chunks in key order. Immutable; does not own them.
class ChunkMap {
 public:
  explicit ChunkMap(std::vector<Chunk*> chunks);

  Chunk* Find(std::string_view key) const { return chunks_[Position(key)]; }
  size_t Position(std::string_view key) const;
  const std::vector<Chunk*>& chunks() const { return chunks_; }
  size_t size() const { return chunks_.size(); }

 private:
  std::vector<Chunk*> chunks_;
  PrefixWords words_;  // of the minimal keys of chunks_[1…]: the first one's is empty
};

}  // namespace chunkstore
