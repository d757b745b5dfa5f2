// HdrLog: histograms in the HdrHistogram log format, version 1.3, with V2 compressed payloads.
// Owns the open file; knows no phase and no operation: a tag is any text without comma or space.
// One thread.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "kvdyno/base/status.h"
#include "measure/histogram.h"

namespace kvdyno {

// The V2 compressed encoding in base64: what stands in a log's last column. An empty histogram
// has an encoding too.
std::string EncodeHistogram(const Histogram& histogram);

class HdrLog {
 public:
  // Truncates the file. `started_at` is Unix time in seconds.
  static Status Create(const std::string& path, double started_at, std::unique_ptr<HdrLog>* log);

  // One line: the values of an interval that began `offset` seconds after `started_at`.
  Status Append(const std::string& tag, double offset, double seconds, const Histogram& histogram);

  // Reports errors of everything written. Nothing may be appended afterwards.
  Status Close();

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  HdrLog(std::string path, std::FILE* file) : path_(std::move(path)), file_(file) {}
  Status WriteError() const;

  std::string path_;
  std::unique_ptr<std::FILE, CloseFile> file_;
};

}  // namespace kvdyno
