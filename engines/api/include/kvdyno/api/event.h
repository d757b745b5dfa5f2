// Event: something that happened inside an engine at a time, for a while: a stall, a flush, a
// step of a tuner. EventLog gathers them where they happen until they are taken.
// Knows neither engine nor driver. EventLog is safe from any thread.
#pragma once

#include <cstdint>
#include <iterator>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace kvdyno {

// Texts are words of lower-case letters, digits and underscores, so that tables can group by them;
// only the detail is for people: "name=value" pairs between blanks, and neither comma nor quote.
struct Event {
  std::string kind;          // "stall", "flush", "compaction", "tuning", "probe"
  uint64_t begin_ns = 0;     // of kvdyno::NowNs
  uint64_t duration_ns = 0;  // 0: a moment
  std::string state = {};    // of a stall: "delay" or "stop"; of a tuning step: what was done
  std::string cause = {};    // of a stall: "memtable", "level0", "pending", "other"
  std::string detail = {};
  bool ended = true;  // false: it still went on when the store was closed
};

class EventLog {
 public:
  void Add(Event event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
  }

  // Moves what was gathered since the last call to the end of *events.
  void Take(std::vector<Event>* events) {
    const std::lock_guard lock(mutex_);
    std::move(events_.begin(), events_.end(), std::back_inserter(*events));
    events_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<Event> events_;  // guarded by mutex_
};

}  // namespace kvdyno
