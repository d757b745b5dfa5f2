// RecordsFile: weighted records from a CSV file, one after the other.
// Owns the open file; knows nothing of a run.
// One thread.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "kvdyno/base/status.h"
#include "sampling/record.h"

namespace kvdyno::sampler {

class RecordsFile {
 public:
  // A file whose first line names its columns, `key`, `value` and `weight` among them. InvalidArgument
  // names the file, and what is wrong with it.
  static Status Open(const std::string& path, RecordsFile* file);

  // The next row; *ended instead where there is none. InvalidArgument names file and line of a row
  // whose key or value is no whole number below 2^64, or whose weight is not from 0 to kMaxWeight.
  Status Next(sampling::Record* record, bool* ended);

  // File and line of the row that was read last, for messages.
  std::string place() const { return path_ + ":" + std::to_string(line_); }

 private:
  enum Column : uint8_t { kKey, kValue, kWeight, kColumns };

  Status Find(std::string_view name, Column column);
  bool ReadLine();
  Status Wrong(Column column, const std::string& expected) const;

  std::string path_;
  std::ifstream stream_;
  std::string text_;                 // of the line
  std::vector<std::string> fields_;  // of the line
  uint64_t line_ = 0;
  size_t places_[kColumns] = {};  // among the fields
};

}  // namespace kvdyno::sampler
