// Writing rows of a table to a file.
#include "report/csv.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>

namespace kvdyno {

std::string CsvNumber(double value) {
  std::array<char, 32> buffer;
  char* const end = buffer.data() + buffer.size();
  const bool whole = std::abs(value) < 1e15 && value == std::trunc(value);
  const auto result = whole ? std::to_chars(buffer.data(), end, static_cast<int64_t>(value))
                            : std::to_chars(buffer.data(), end, value);
  return std::string(buffer.data(), result.ptr);
}

Status CsvFile::Create(const std::string& path, std::unique_ptr<CsvFile>* file) {
  std::FILE* opened = std::fopen(path.c_str(), "w");
  if (opened == nullptr) return Status::IoError("create " + path + ": " + std::strerror(errno));
  file->reset(new CsvFile(path, opened));
  return Status::Ok();
}

void CsvFile::WriteLine(const std::string& line) {
  std::fprintf(file_.get(), "%s\n", line.c_str());
  if (std::fflush(file_.get()) != 0 && first_errno_ == 0) first_errno_ = errno;
}

Status CsvFile::Close() {
  file_.reset();
  if (first_errno_ == 0) return Status::Ok();
  return Status::IoError("write " + path_ + ": " + std::strerror(first_errno_));
}

}  // namespace kvdyno
