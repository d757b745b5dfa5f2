// EventTable: events.csv, a row per event, in reporting order.
// Owns the file and the phases' beginnings; knows no engine.
// One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kvdyno/api/event.h"
#include "kvdyno/base/status.h"
#include "report/csv.h"

namespace kvdyno {

class EventTable {
 public:
  // `started_ns` is the driver's start: times in the table count from there, as in the series.
  static Status Create(const std::string& path, uint64_t started_ns,
                       std::unique_ptr<EventTable>* table);

  void BeginPhase(const std::string& name, uint64_t now_ns) { phases_.emplace_back(now_ns, name); }

  // An event belongs to the phase in which it began, whenever it is reported.
  void Append(const std::vector<Event>& events);

  // The first error of all writing, if any. Nothing may be appended afterwards.
  Status Close() { return file_->Close(); }

 private:
  EventTable(std::unique_ptr<CsvFile> file, uint64_t started_ns)
      : file_(std::move(file)), started_ns_(started_ns) {}
  std::string PhaseAt(uint64_t ns) const;

  const std::unique_ptr<CsvFile> file_;
  const uint64_t started_ns_;
  std::vector<std::pair<uint64_t, std::string>> phases_;  // when each began
};

}  // namespace kvdyno
