#include "posix_error.h"

#include <system_error>

namespace kvdyno {
namespace {

Code Meaning(int error) {
  switch (error) {
    case ENOENT:
      return Code::kNotFound;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return Code::kNoSpace;
    case EROFS:
      return Code::kReadOnly;
    default:
      return Code::kIoError;
  }
}

}  // namespace

Status ErrnoStatus(std::string_view call, const std::string& path, int error) {
  std::string message(call);
  message.append(" ").append(path).append(": ");
  message.append(std::generic_category().message(error));
  return {Meaning(error), std::move(message)};
}

Status ErrnoStatus(std::string_view call, const std::string& path, uint64_t offset, int error) {
  return ErrnoStatus(call, path + " at offset " + std::to_string(offset), error);
}

}  // namespace kvdyno
