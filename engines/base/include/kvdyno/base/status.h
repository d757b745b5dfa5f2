// Status: the outcome of an operation that can fail.
// Owns a code, a message and the place of damage; knows no engine and opens no file.
// A Status is a value of two words: Ok and a plain NotFound allocate nothing. Distinct objects may
// be used from distinct threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace kvdyno {

enum class Code : uint8_t {
  kOk = 0,
  kNotFound,         // the key does not exist; an answer, not a failure
  kInvalidArgument,  // the caller's input is wrong
  kUnsupported,      // this engine has no such operation
  kIoError,          // the operating system refused
  kNoSpace,          // the disk, or a limit on it, is full; may succeed later
  kReadOnly,         // opened for reading, or no longer writable after a failed sync
  kCorruption,       // stored data is not what was written
  kBusy,             // another process or store holds the resource
  kInternal,         // a defect
};

// The word that messages, logs and records use for a code ("not found").
std::string_view CodeName(Code code);

// Messages read "operation target: expected X, got Y".
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message);
  Status(const Status& other) : code_(other.code_), detail_(Copy(other.detail_.get())) {}
  Status(Status&&) noexcept = default;
  Status& operator=(const Status& other) {
    if (this != &other) *this = Status(other);
    return *this;
  }
  Status& operator=(Status&&) noexcept = default;
  ~Status() = default;

  static Status Ok() { return {}; }
  static Status NotFound() { return Status(Code::kNotFound); }
  static Status InvalidArgument(std::string message) {
    return {Code::kInvalidArgument, std::move(message)};
  }
  static Status Unsupported(std::string message) {
    return {Code::kUnsupported, std::move(message)};
  }
  static Status IoError(std::string message) { return {Code::kIoError, std::move(message)}; }
  static Status NoSpace(std::string message) { return {Code::kNoSpace, std::move(message)}; }
  static Status ReadOnly(std::string message) { return {Code::kReadOnly, std::move(message)}; }
  static Status Corruption(std::string message) { return {Code::kCorruption, std::move(message)}; }
  static Status Busy(std::string message) { return {Code::kBusy, std::move(message)}; }
  static Status Internal(std::string message) { return {Code::kInternal, std::move(message)}; }

  // The same outcome with the place in a file that it is about; Ok stays Ok.
  Status WithPlace(std::string file, uint64_t offset) const;

  bool ok() const { return code_ == Code::kOk; }
  bool not_found() const { return code_ == Code::kNotFound; }
  Code code() const { return code_; }
  const std::string& message() const;
  const std::string& file() const;  // empty: no place is known
  uint64_t offset() const;          // in bytes; 0 where no place is known

  // "io error: write /x/000012.log: expected 4096 bytes, wrote 512", and with a place
  // "corruption: block checksum: expected 1, got 2 (/x/000012.seg at offset 4096)".
  std::string ToString() const;

 private:
  struct Detail;
  // Out of line, so that the common paths compile to a test for null.
  struct Free {
    void operator()(Detail* detail) const;
  };
  using DetailPtr = std::unique_ptr<Detail, Free>;

  explicit Status(Code code) : code_(code) {}
  static DetailPtr Copy(const Detail* detail) { return detail ? Clone(*detail) : nullptr; }
  static DetailPtr Clone(const Detail& detail);
  static const Detail& Nothing();

  Code code_ = Code::kOk;
  DetailPtr detail_;
};
static_assert(sizeof(Status) == 16);

}  // namespace kvdyno
