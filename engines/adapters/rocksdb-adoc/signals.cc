#include "signals.h"

#include <algorithm>
#include <utility>

#include "kvdyno/base/clock.h"

namespace kvdyno::adoc {

void Signals::OnMemTableSealed(const rocksdb::MemTableInfo& info) {
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= memtables_to_merge_) counts_.early_fills++;
  waiting_.push_back(info.first_seqno);
}

void Signals::OnFlushBegin(rocksdb::DB* /*db*/, const rocksdb::FlushJobInfo& info) {
  const std::lock_guard lock(mutex_);
  flush_begins_ns_[info.job_id] = NowNs();
}

void Signals::OnFlushCompleted(rocksdb::DB* /*db*/, const rocksdb::FlushJobInfo& info) {
  const rocksdb::TableProperties& table = info.table_properties;
  const auto bytes = static_cast<double>(table.data_size + table.index_size + table.filter_size);
  const std::lock_guard lock(mutex_);
  // One flush may write several memtables out.
  while (!waiting_.empty() && waiting_.front() <= info.largest_seqno) waiting_.pop_front();
  counts_.flushed_bytes += bytes;
  counts_.level0_slowdown |= info.triggered_writes_slowdown;
  const auto begin = flush_begins_ns_.extract(info.job_id);
  if (begin.empty()) return;
  const uint64_t nanoseconds = std::max<uint64_t>(1, NowNs() - begin.mapped());
  counts_.flush_speeds += bytes * 1e9 / static_cast<double>(nanoseconds);
  counts_.flushes++;
}

void Signals::EndWindow(double seconds, tuners::AdocWindow* window) {
  const std::lock_guard lock(mutex_);
  const Counts counts = std::exchange(counts_, Counts());
  window->early_fills = counts.early_fills;
  if (counts.flushes > 0) {
    window->flush_bytes_per_s = counts.flush_speeds / static_cast<double>(counts.flushes);
  }
  window->ingest_bytes_per_s = counts.flushed_bytes / seconds;
  if (counts.level0_slowdown) {
    window->level0_files = std::max(window->level0_files, level0_slowdown_files_);
  }
}

}  // namespace kvdyno::adoc
