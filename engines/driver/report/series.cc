// Writing series.csv. A Series owns its file; the observer's lock keeps threads apart.
#include "report/series.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>

namespace kvdyno {
namespace {

// Whole numbers in full, without an exponent; others as short as they can be read back.
std::string Number(double value) {
  std::array<char, 32> buffer;
  char* const end = buffer.data() + buffer.size();
  const bool whole = std::abs(value) < 1e15 && value == std::trunc(value);
  const auto result = whole ? std::to_chars(buffer.data(), end, static_cast<int64_t>(value))
                            : std::to_chars(buffer.data(), end, value);
  return std::string(buffer.data(), result.ptr);
}

using Cells = std::map<std::string, double>;

void AddOperationCells(const Tally& tally, double seconds, Cells* cells) {
  const double operations = static_cast<double>(tally.operations());
  (*cells)["operations"] = operations;
  if (seconds > 0) (*cells)["throughput"] = operations / seconds;
  for (size_t i = 0; i < kOperationCount; ++i) {
    const auto operation = static_cast<Operation>(i);
    const OperationTally* mine = tally.of(operation);
    if (mine == nullptr) continue;
    const std::string name(OperationName(operation));
    const Histogram& latency = mine->latency;
    (*cells)[name + ".operations"] = static_cast<double>(latency.count());
    if (latency.count() == 0) continue;
    (*cells)[name + ".latency.p50"] = static_cast<double>(latency.Percentile(50));
    (*cells)[name + ".latency.p99"] = static_cast<double>(latency.Percentile(99));
    (*cells)[name + ".latency.max"] = static_cast<double>(latency.max());
  }
}

}  // namespace

Status Series::Create(const std::string& path, const TallyShape& shape,
                      const std::vector<Counter>& sample, std::unique_ptr<Series>* series) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return Status::IoError("create " + path + ": " + std::strerror(errno));
  series->reset(new Series(path, file));
  (*series)->AddColumns(shape, sample);
  std::string header = "phase,elapsed";
  for (const Column& column : (*series)->columns_) header += "," + column.name;
  (*series)->WriteLine(header);
  return Status::Ok();
}

void Series::AddColumns(const TallyShape& shape, const std::vector<Counter>& sample) {
  columns_ = {{"operations", "op"}, {"throughput", "op/s"}};
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
  std::string row = phase + "," + Number(elapsed);
  for (const Column& column : columns_) {
    const auto cell = cells.find(column.name);
    row += ",";
    if (cell != cells.end()) row += Number(cell->second);
  }
  WriteLine(row);
}

// At once, so that a run that is killed leaves what it saw.
void Series::WriteLine(const std::string& line) {
  std::fprintf(file_.get(), "%s\n", line.c_str());
  if (std::fflush(file_.get()) != 0 && first_errno_ == 0) first_errno_ = errno;
}

std::map<std::string, std::string> Series::Columns() const {
  std::map<std::string, std::string> units;
  for (const Column& column : columns_) units[column.name] = column.unit;
  return units;
}

Status Series::Close() {
  file_.reset();
  if (first_errno_ == 0) return Status::Ok();
  return Status::IoError("write " + path_ + ": " + std::strerror(first_errno_));
}

}  // namespace kvdyno
