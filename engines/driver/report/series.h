// Series: series.csv, a row per interval.
// Owns the open file and the list of columns, which is fixed when the file is made.
// One thread at a time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kvdyno/api/engine.h"
#include "kvdyno/base/status.h"
#include "measure/tally.h"
#include "report/csv.h"

namespace kvdyno {

class Series {
 public:
  // `sample` shows which counters have columns. Truncates the file.
  static Status Create(const std::string& path, const TallyShape& shape,
                       const std::vector<Counter>& sample, std::unique_ptr<Series>* series);

  // The last `seconds`, ending `elapsed` seconds after the driver's start. A null tally: no client
  // worked. `changes` are those since the last row; what has no column is not written.
  void Append(const std::string& phase, double elapsed, double seconds, const Tally* tally,
              const std::vector<Counter>& changes);

  // Name to unit, without phase and elapsed.
  std::map<std::string, std::string> Columns() const;

  // The first error of all writing, if any. Nothing may be appended afterwards.
  Status Close() { return file_->Close(); }

 private:
  struct Column {
    std::string name;
    std::string unit;
  };

  explicit Series(std::unique_ptr<CsvFile> file) : file_(std::move(file)) {}
  void AddColumns(const TallyShape& shape, const std::vector<Counter>& sample);

  const std::unique_ptr<CsvFile> file_;
  std::vector<Column> columns_;
};

}  // namespace kvdyno
