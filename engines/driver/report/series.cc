// Writing series.csv. A Series owns its file; the observer's lock keeps threads apart.
#include "report/series.h"

namespace kvdyno {
namespace {

using Cells = std::map<std::string, double>;

void AddOperationCells(const Tally& tally, double seconds, Cells* cells) {
  const double operations = static_cast<double>(tally.operations());
  (*cells)["operations"] = operations;
  (*cells)["bytes.written"] = static_cast<double>(tally.bytes_written);
  (*cells)["bytes.read"] = static_cast<double>(tally.bytes_read);
  if (seconds > 0) (*cells)["throughput"] = operations / seconds;
  for (size_t i = 0; i < kOperationCount; ++i) {
    const auto operation = static_cast<Operation>(i);
    const OperationTally* mine = tally.of(operation);
    if (mine == nullptr) continue;
    const std::string name(OperationName(operation));
    const Histogram& latency = mine->latency;
    (*cells)[name + ".operations"] = static_cast<double>(mine->completed());
    if (latency.count() == 0) continue;
    (*cells)[name + ".latency.p50"] = static_cast<double>(latency.Percentile(50));
    (*cells)[name + ".latency.p99"] = static_cast<double>(latency.Percentile(99));
    (*cells)[name + ".latency.max"] = static_cast<double>(latency.max());
  }
}

}  // namespace

Status Series::Create(const std::string& path, const TallyShape& shape,
                      const std::vector<Counter>& sample, std::unique_ptr<Series>* series) {
  std::unique_ptr<CsvFile> file;
  if (Status status = CsvFile::Create(path, &file); !status.ok()) return status;
  series->reset(new Series(std::move(file)));
  (*series)->AddColumns(shape, sample);
  std::string header = "phase,elapsed";
  for (const Column& column : (*series)->columns_) header += "," + column.name;
  (*series)->file_->WriteLine(header);
  return Status::Ok();
}

void Series::AddColumns(const TallyShape& shape, const std::vector<Counter>& sample) {
  columns_ = {{"operations", "op"},
              {"throughput", "op/s"},
              {"bytes.written", "byte"},
              {"bytes.read", "byte"}};
  for (size_t i = 0; i < kOperationCount; ++i) {
    if (!shape.used[i]) continue;
    const std::string name(OperationName(static_cast<Operation>(i)));
    columns_.push_back({name + ".operations", "op"});
    for (const char* statistic : {".latency.p50", ".latency.p99", ".latency.max"}) {
      columns_.push_back({name + statistic, "ns"});
    }
  }
  for (const Counter& counter : sample) columns_.push_back({counter.name, counter.unit});
}

void Series::Append(const std::string& phase, double elapsed, double seconds, const Tally* tally,
                    const std::vector<Counter>& changes) {
  Cells cells;
  if (tally != nullptr) AddOperationCells(*tally, seconds, &cells);
  for (const Counter& change : changes) cells[change.name] = change.value;
  std::string row = phase + "," + CsvNumber(elapsed);
  for (const Column& column : columns_) {
    const auto cell = cells.find(column.name);
    row += ",";
    if (cell != cells.end()) row += CsvNumber(cell->second);
  }
  file_->WriteLine(row);
}

std::map<std::string, std::string> Series::Columns() const {
  std::map<std::string, std::string> units;
  for (const Column& column : columns_) units[column.name] = column.unit;
  return units;
}

}  // namespace kvdyno
