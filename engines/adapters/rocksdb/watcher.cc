#include "watcher.h"

#include <string>
#include <utility>

#include "kvdyno/base/clock.h"
#include "levels.h"

namespace kvdyno::rocks {

namespace {

// Why a job runs; what is rare in a benchmark goes together.
const char* WordOf(rocksdb::FlushReason reason) {
  if (IsForTheLog(reason)) return "log_full";
  switch (reason) {
    case rocksdb::FlushReason::kWriteBufferFull:
      return "memtable_full";
    case rocksdb::FlushReason::kWriteBufferManager:
      return "write_buffer_manager";
    case rocksdb::FlushReason::kManualFlush:
      return "asked";
    default:
      return "other";
  }
}

const char* WordOf(rocksdb::CompactionReason reason) {
  switch (reason) {
    case rocksdb::CompactionReason::kLevelL0FilesNum:
      return "level0_files";
    case rocksdb::CompactionReason::kLevelMaxLevelSize:
      return "level_size";
    case rocksdb::CompactionReason::kManualCompaction:
      return "asked";
    default:
      return "other";
  }
}

std::string DetailOf(const rocksdb::CompactionJobInfo& job) {
  return "from=" + std::to_string(job.base_input_level) +
         " to=" + std::to_string(job.output_level) +
         " files=" + std::to_string(job.input_files.size());
}

}  // namespace

void Watcher::Attach(rocksdb::DB* db) {
  const std::lock_guard lock(mutex_);
  db_ = db;
  LookLocked();
}

void Watcher::Detach() {
  const std::lock_guard lock(mutex_);
  db_ = nullptr;
}

void Watcher::Finish() {
  const std::lock_guard lock(mutex_);
  const uint64_t now = NowNs();
  stalls_.Finish(now);
  for (auto& [id, job] : jobs_) {
    job.duration_ns = now - job.begin_ns;
    job.ended = false;
    events_->Add(std::move(job));
  }
  jobs_.clear();
}

void Watcher::Look() {
  const std::lock_guard lock(mutex_);
  LookLocked();
}

// Levels and options are read only while there is a stall to explain.
void Watcher::LookLocked() {
  if (db_ == nullptr) return;
  const uint64_t now = NowNs();
  const Stall stall = StallOf(db_);
  if (stall == Stall::kNone) return stalls_.Look(now, stall, Cause::kOther, {});
  const Levels levels = LevelsOf(db_);
  stalls_.Look(now, stall, CauseOf(stall, levels, Limits::Of(db_->GetOptions())), levels);
}

void Watcher::OnFlushBegin(rocksdb::DB*, const rocksdb::FlushJobInfo& job) {
  BeginJob(job.job_id, {.kind = "flush", .begin_ns = NowNs(), .cause = WordOf(job.flush_reason)});
}

void Watcher::OnFlushCompleted(rocksdb::DB*, const rocksdb::FlushJobInfo& job) {
  EndJob(job.job_id, "bytes=" + std::to_string(job.table_properties.data_size));
  const std::lock_guard lock(mutex_);
  ++flushes_;
}

void Watcher::OnCompactionBegin(rocksdb::DB*, const rocksdb::CompactionJobInfo& job) {
  BeginJob(job.job_id, {.kind = "compaction",
                        .begin_ns = NowNs(),
                        .cause = WordOf(job.compaction_reason),
                        .detail = DetailOf(job)});
}

void Watcher::OnCompactionCompleted(rocksdb::DB*, const rocksdb::CompactionJobInfo& job) {
  const uint64_t read = job.stats.total_input_bytes;
  EndJob(job.job_id, DetailOf(job) + " read_bytes=" + std::to_string(read) +
                         " written_bytes=" + std::to_string(job.stats.total_output_bytes));
  const std::lock_guard lock(mutex_);
  compaction_read_bytes_ += read;
  ++(job.base_input_level == 0 ? level0_compactions_ : deep_compactions_);
}

void Watcher::OnTableFileCreated(const rocksdb::TableFileCreationInfo& file) {
  const std::lock_guard lock(mutex_);
  if (file.reason == rocksdb::TableFileCreationReason::kFlush) flushed_bytes_ += file.file_size;
  if (file.reason == rocksdb::TableFileCreationReason::kCompaction) {
    compacted_bytes_ += file.file_size;
  }
}

void Watcher::BeginJob(int id, Event event) {
  const std::lock_guard lock(mutex_);
  jobs_.insert_or_assign(id, std::move(event));
}

void Watcher::EndJob(int id, std::string detail) {
  const std::lock_guard lock(mutex_);
  if (auto job = jobs_.extract(id)) {
    job.mapped().duration_ns = NowNs() - job.mapped().begin_ns;
    job.mapped().detail = std::move(detail);
    events_->Add(std::move(job.mapped()));
  }
  LookLocked();
}

void Watcher::Sample(std::vector<Counter>* counters) {
  const std::lock_guard lock(mutex_);
  LookLocked();
  stalls_.Sample(NowNs(), counters);
  const auto add = [&](const char* name, uint64_t value, const char* unit) {
    counters->push_back({name, static_cast<double>(value), unit, true});
  };
  add("flushes", flushes_, "count");
  add("level0_compactions", level0_compactions_, "count");
  add("deep_compactions", deep_compactions_, "count");
  add("flush_write_bytes", flushed_bytes_, "byte");
  add("compact_read_bytes", compaction_read_bytes_, "byte");
  add("compact_write_bytes", compacted_bytes_, "byte");
}

}  // namespace kvdyno::rocks
