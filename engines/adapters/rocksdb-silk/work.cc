#include "work.h"

namespace kvdyno::silk {

namespace {

// All work begins with a callback, so that what a pooled thread did last does not matter.
thread_local tuners::SilkClass current_work = tuners::SilkClass::kFlush;

}  // namespace

tuners::SilkClass CurrentWork() { return current_work; }

tuners::SilkClass CompactionFrom(int level) {
  if (level <= 0) return tuners::SilkClass::kLevel0;
  return level == 1 ? tuners::SilkClass::kLevel1 : tuners::SilkClass::kDeep;
}

void WorkListener::OnFlushBegin(rocksdb::DB* /*db*/, const rocksdb::FlushJobInfo& /*info*/) {
  current_work = tuners::SilkClass::kFlush;
}

void WorkListener::OnCompactionBegin(rocksdb::DB* /*db*/, const rocksdb::CompactionJobInfo& info) {
  current_work = CompactionFrom(info.base_input_level);
}

void WorkListener::OnSubcompactionBegin(const rocksdb::SubcompactionJobInfo& info) {
  current_work = CompactionFrom(info.base_input_level);
}

}  // namespace kvdyno::silk
