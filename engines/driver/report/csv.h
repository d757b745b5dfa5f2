// CsvFile: a table written row by row, each at once, so that a run that is killed leaves what it
// saw. Owns the open file; knows no columns. One thread at a time.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "kvdyno/base/status.h"

namespace kvdyno {

// Whole numbers in full, without an exponent; others as short as they can be read back.
std::string CsvNumber(double value);

class CsvFile {
 public:
  // Truncates the file.
  static Status Create(const std::string& path, std::unique_ptr<CsvFile>* file);

  void WriteLine(const std::string& line);

  // The first error of all writing, if any. Nothing may be written afterwards.
  Status Close();

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  CsvFile(std::string path, std::FILE* file) : path_(std::move(path)), file_(file) {}

  const std::string path_;
  std::unique_ptr<std::FILE, CloseFile> file_;
  int first_errno_ = 0;
};

}  // namespace kvdyno
