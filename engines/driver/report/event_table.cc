// Writing events.csv.
#include "report/event_table.h"

#include <algorithm>

namespace kvdyno {
namespace {

// What a cell cannot hold: adapters promise not to use it, and a table must be readable anyway.
std::string Cell(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == ',' || c == '"' || c < ' '; }, ' ');
  return text;
}

// Events may have begun before the driver's start is stamped, by a little.
double SecondsFrom(uint64_t origin_ns, uint64_t ns) {
  return static_cast<double>(static_cast<int64_t>(ns - origin_ns)) * 1e-9;
}

}  // namespace

Status EventTable::Create(const std::string& path, uint64_t started_ns,
                          std::unique_ptr<EventTable>* table) {
  std::unique_ptr<CsvFile> file;
  if (Status status = CsvFile::Create(path, &file); !status.ok()) return status;
  file->WriteLine("phase,begin,duration,ended,kind,state,cause,detail");
  table->reset(new EventTable(std::move(file), started_ns));
  return Status::Ok();
}

void EventTable::Append(const std::vector<Event>& events) {
  for (const Event& event : events) {
    std::string row = PhaseAt(event.begin_ns);
    row += "," + CsvNumber(SecondsFrom(started_ns_, event.begin_ns));
    row += "," + CsvNumber(static_cast<double>(event.duration_ns) * 1e-9);
    row += event.ended ? ",1" : ",0";
    for (const std::string* text : {&event.kind, &event.state, &event.cause, &event.detail}) {
      row += "," + Cell(*text);
    }
    file_->WriteLine(row);
  }
}

// Empty before the first phase.
std::string EventTable::PhaseAt(uint64_t ns) const {
  const auto next =
      std::upper_bound(phases_.begin(), phases_.end(), ns,
                       [](uint64_t at, const auto& phase) { return at < phase.first; });
  return next == phases_.begin() ? "" : std::prev(next)->second;
}

}  // namespace kvdyno
