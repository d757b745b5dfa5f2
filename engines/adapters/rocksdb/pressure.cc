#include "pressure.h"

#include <algorithm>

namespace kvdyno::rocks {

namespace {

uint64_t Positive(int64_t value) { return value > 0 ? static_cast<uint64_t>(value) : 0; }

bool Reached(uint64_t level, uint64_t limit) { return limit > 0 && level >= limit; }

// Memtables slow writes down one before the last, where there are more than three and what waits is
// more than a flush would take anyway.
bool MemtablesDelay(uint64_t waiting, const Limits& limits) {
  return limits.write_buffers > 3 && waiting + 1 >= limits.write_buffers &&
         waiting >= limits.write_buffers_to_merge + 1;
}

// Level 0 presses at twice the files that start a compaction, or a quarter of the way from there to
// the slowdown, whichever is less.
bool Presses(const Levels& levels, const Limits& limits) {
  const uint64_t trigger = limits.level0_compaction;
  const uint64_t way = limits.level0_slowdown > trigger ? limits.level0_slowdown - trigger : 0;
  return (trigger > 0 && levels.level0_files >= std::min(trigger * 2, trigger + way / 4)) ||
         Reached(levels.pending_bytes, limits.soft_pending_bytes / 4);
}

}  // namespace

// Without automatic compactions only memtables stall.
Limits Limits::Of(const rocksdb::Options& options) {
  Limits limits;
  limits.write_buffers = Positive(options.max_write_buffer_number);
  limits.write_buffers_to_merge = Positive(options.min_write_buffer_number_to_merge);
  const bool compacts = !options.disable_auto_compactions;
  const auto unless_off = [&](int64_t limit) { return compacts ? Positive(limit) : 0; };
  limits.level0_compaction = unless_off(options.level0_file_num_compaction_trigger);
  limits.level0_slowdown = unless_off(options.level0_slowdown_writes_trigger);
  limits.level0_stop = unless_off(options.level0_stop_writes_trigger);
  limits.soft_pending_bytes = compacts ? options.soft_pending_compaction_bytes_limit : 0;
  limits.hard_pending_bytes = compacts ? options.hard_pending_compaction_bytes_limit : 0;
  limits.background_jobs = Positive(options.max_background_jobs);
  limits.background_flushes = Positive(options.max_background_flushes);
  limits.background_compactions = Positive(options.max_background_compactions);
  return limits;
}

Cause CauseOf(Stall stall, const Levels& levels, const Limits& limits) {
  const bool stop = stall == Stall::kStop;
  const bool memtables = stop ? levels.immutable_memtables >= limits.write_buffers
                              : MemtablesDelay(levels.immutable_memtables, limits);
  if (memtables) return Cause::kMemtable;
  if (Reached(levels.level0_files, stop ? limits.level0_stop : limits.level0_slowdown)) {
    return Cause::kLevel0;
  }
  if (Reached(levels.pending_bytes, stop ? limits.hard_pending_bytes : limits.soft_pending_bytes)) {
    return Cause::kPending;
  }
  return Cause::kOther;
}

Slots SlotsOf(Stall stall, const Levels& levels, const Limits& limits) {
  Slots slots;
  const bool of_old = limits.background_flushes > 0 || limits.background_compactions > 0;
  if (of_old) {
    slots.flushes = std::max<uint64_t>(1, limits.background_flushes);
    slots.compactions = std::max<uint64_t>(1, limits.background_compactions);
  } else {
    slots.flushes = std::max<uint64_t>(1, limits.background_jobs / 4);
    slots.compactions = std::max(slots.flushes + 1, limits.background_jobs) - slots.flushes;
  }
  if (stall == Stall::kNone && !Presses(levels, limits)) slots.compactions = 1;
  return slots;
}

}  // namespace kvdyno::rocks
