// What an errno of a file operation means to a store.
// Owns the translation to status codes and the form of the messages. Pure functions.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>

#include "kvdyno/base/status.h"

namespace kvdyno {

// "pread /x/12.seg at offset 4096: Input/output error".
Status ErrnoStatus(std::string_view call, const std::string& path, int error);
Status ErrnoStatus(std::string_view call, const std::string& path, uint64_t offset, int error);

// Repeats a system call that a signal interrupted.
template <typename Call>
auto Uninterrupted(const Call& call) {
  decltype(call()) result;
  do {
    result = call();
  } while (result == -1 && errno == EINTR);
  return result;
}

}  // namespace kvdyno
