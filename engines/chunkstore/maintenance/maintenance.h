// Maintenance: everything that changes chunks. Flushes stages, reorganises chunks (rebalance, split
// and merge are one operation), keeps munks, shares the memory budget, takes checkpoints. One round
// at a time, under State::maintenance_mutex, in one thread; the chunks of a round may be prepared
// by several. Readers and writers never wait for it, except when no stage is free.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/state.h"
#include "core/writer.h"
#include "maintenance/policy.h"
#include "memory/arbiter.h"

namespace chunkstore {

class PieceWriter;

inline constexpr uint64_t kRoundBytes = uint64_t{32} << 20;  // input of a round's jobs
// The same where they only save later work: PayDebt waits for the round.
inline constexpr uint64_t kLeisureBytes = uint64_t{8} << 20;
inline constexpr uint64_t kRoundsAlone = 20;  // a chunk that failed is left alone for so many

class Maintenance {
 public:
  // `given`: the options before automatic values were resolved.
  Maintenance(State* state, Writer* writer);
  ~Maintenance();

  // Background threads, if there are any; one of them first gives back the space that a crash left
  // unused.
  void Start(bool punch_gaps);
  void Stop();
  void Wake();

  // For a writer that found no free stage: a round in this thread, or a wake-up.
  Status Work();
  // Flushes everything written before, and reorganises until nothing is due.
  Status FlushAll();
  // One stage, whatever else is due; for a store that is being opened.
  Status FlushOldest();
  // Flushes, and then pays what logs hold beyond the bound: the largest logs first.
  Status PayDebt(uint64_t log_bytes_max);
  // Flushes, and then reorganises every chunk that has a log or versions to drop.
  Status CompactAll();
  // Counts the bytes of all logs, and sets how much writers are slowed down for them. Under the
  // maintenance lock, or before the store is shared.
  void SurveyDebt();

  // Saves log indexes and heat for the next open. Returns the file's number, even if it could not
  // be written. Under the maintenance lock, with all background threads stopped.
  uint64_t SaveWarmth();

  double drain_seconds() const { return drain_seconds_.load(); }
  uint64_t log_debt() const { return log_debt_.load(); }
  uint64_t munk_bytes() const { return munk_bytes_.load(); }
  uint64_t munks() const { return munks_.load(); }
  uint64_t index_bytes() const { return index_bytes_.load(); }

 private:
  // --- maintenance.cc
  bool stopped();  // the store is closing: loading anything would be wasted
  Status Round(bool* worked);
  Status FlushSealed();  // the oldest sealed stage, if there is one
  void RoundLoop();
  void CheckpointLoop();
  void SurveyIndexes();  // what indexes take in memory
  void Tick();
  void TrimHeap();
  std::vector<Job> SparseJobs();
  void BeginWork();
  bool idle() const;
  uint64_t CacheBytes() const;
  void ApplyShares();

  // --- debt.cc
  uint64_t PayOnce(uint64_t log_bytes_max, Status* error);

  // --- flush.cc
  std::shared_ptr<Stage> OldestSealed();
  Status FlushStage(const std::shared_ptr<Stage>& stage);
  struct FlushBatch;
  struct Flushing;
  Status WriteBatch(FlushBatch* batch, Flushing* flushing);
  Status AdoptBatch(FlushBatch* batch, Flushing* flushing);
  bool Adoptable(const FlushBatch& batch) const;
  void RefreshRows(const Stage& stage);
  void DropStage(const std::shared_ptr<Stage>& stage);

  // --- reorganise.cc
  struct Prepared;  // a job's outcome before it is installed
  Status Reorganise(const std::vector<Job>& jobs);
  Status Prepare(const Job& job, const ReadAhead& ahead, SegmentWriter* segment,
                 PieceWriter* writer, Prepared* prepared);
  void PrepareSome(const std::vector<Job>& jobs, size_t first, size_t end,
                   std::vector<Prepared>* prepared, std::vector<Status>* statuses);
  size_t FetchLogs(const std::vector<Job>& jobs, size_t first, size_t end, ReadAhead* ahead) const;
  Status Install(std::vector<Prepared>* prepared);
  void InstallOne(Prepared* prepared, const std::vector<uint64_t>& ids,
                  std::vector<Chunk*>* removed, std::vector<Chunk*>* added);
  static const Munk* MunkOf(const Job& job);  // that can be written out instead
  std::unique_ptr<EntryCursor> JobCursor(const Job& job, const ReadAhead& ahead, bool* from_munk);

  // --- chunks.cc: the chunk map and manifest records
  std::unique_ptr<Chunk> NewChunk(std::string min_key, std::string max_key,
                                  std::unique_ptr<const Funk> funk);
  static ChunkRecord RecordOf(uint64_t id, const std::string& min_key, const Funk& funk);
  std::unique_ptr<Funk> EmptyFunk() const;
  // Puts a map with `added` in the place of `removed`, and retires those.
  void ReplaceChunks(const std::vector<Chunk*>& removed, const std::vector<Chunk*>& added);
  static void ObsoleteRuns(const Funk& funk);
  // `to` hold what `from` held: they are as hot, each by its part.
  static void InheritHeat(const std::vector<Chunk*>& from, const std::vector<Chunk*>& to);
  Status Apply(const Edit& edit);

  // --- warm.cc
  bool WarmLogs();
  bool WarmGroup(const std::vector<Chunk*>& group);  // neighbours; true when some are warm now
  void FetchLogs(const std::vector<Chunk*>& chunks, ReadAhead* ahead) const;

  // --- munks.cc
  uint64_t MunksOfAll() const;  // bytes that munks of all chunks would take
  struct MunkSurvey {
    uint64_t bytes = 0;                                   // that munks take at their peaks
    bool grow = false;                                    // whether any is written to
    std::vector<std::pair<double, Chunk*>> held, wanted;  // heat and chunk; held: coldest first
    size_t coldest = 0;                                   // in held: those before were evicted
  };
  MunkSurvey FitMunks();
  void EvictColdest(MunkSurvey* munks);
  bool KeepMunks();  // true when it loaded some
  bool LoadMunks(std::vector<Chunk*> chunks);
  Status LoadMunk(Chunk* chunk, const ReadAhead& ahead);
  void DropMunk(Chunk* chunk);
  void EvictMunk(Chunk* chunk);  // drops it, and counts it
  void RebalanceMunk(Chunk* chunk);
  // New munks over these ranges, filled from the old one and following it from now on.
  std::vector<Munk*> SucceedMunk(Munk* old,
                                 const std::vector<std::pair<std::string, std::string>>& ranges);
  // Versions that a munk must be able to answer at: live snapshots, and the borders between stages,
  // at which a munk may be written out.
  std::vector<Version> MunkVersions(Version* now);
  Version SettledWrites() const;

  State& state_;
  Writer& writer_;
  Policy policy_;

  std::unique_ptr<Arbiter> arbiter_;
  uint64_t munk_capacity_ = 0;
  uint64_t last_tick_ns_ = 0;
  uint64_t last_work_ns_ = 0;
  uint64_t next_trim_ns_ = 0;
  uint64_t rounds_ = 0;
  bool warmed_ = false;  // by the last round
  CacheObservation last_munks_, last_rows_, last_blocks_;
  Status job_error_;  // the last chunk that could not be reorganised; what Flush reports

  std::atomic<double> drain_seconds_{0};
  std::atomic<uint64_t> log_debt_{0}, munk_bytes_{0}, munks_{0}, index_bytes_{0};
  uint64_t debt_limit_ = 0;       // as of the last SurveyDebt
  uint64_t log_index_bytes_ = 0;  // of index_bytes_

  std::mutex wake_mutex_;
  std::condition_variable wake_;
  bool woken_ = false;  // guarded by wake_mutex_
  bool stop_ = false;   // guarded by wake_mutex_
  std::vector<std::thread> threads_;
};

}  // namespace chunkstore
