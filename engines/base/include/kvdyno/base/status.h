// Status: the outcome of an operation that can fail.
// Owns a code and a message; knows no engine and no file.
// A Status is a value: distinct objects may be used from distinct threads.
#pragma once

#include <cstdint>
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
  kBusy,             // somebody else holds the resource
  kInternal,         // a defect
};

// The word that messages, logs and records use for a code ("not found").
std::string_view CodeName(Code code);

// Messages read "operation target: expected X, got Y".
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  static Status Ok() { return {}; }
  static Status NotFound() { return {Code::kNotFound, {}}; }
  static Status InvalidArgument(std::string message) {
    return {Code::kInvalidArgument, std::move(message)};
  }
  static Status Unsupported(std::string message) {
    return {Code::kUnsupported, std::move(message)};
  }
  static Status IoError(std::string message) { return {Code::kIoError, std::move(message)}; }
  static Status Corruption(std::string message) { return {Code::kCorruption, std::move(message)}; }
  static Status Busy(std::string message) { return {Code::kBusy, std::move(message)}; }
  static Status Internal(std::string message) { return {Code::kInternal, std::move(message)}; }

  bool ok() const { return code_ == Code::kOk; }
  bool not_found() const { return code_ == Code::kNotFound; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

  // "io error: write /x/000012.log: expected 4096 bytes, wrote 512".
  std::string ToString() const;

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

}  // namespace kvdyno
