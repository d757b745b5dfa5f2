#include "kvdyno/base/status.h"

namespace kvdyno {

std::string_view CodeName(Code code) {
  switch (code) {
    case Code::kOk:
      return "ok";
    case Code::kNotFound:
      return "not found";
    case Code::kInvalidArgument:
      return "invalid argument";
    case Code::kUnsupported:
      return "unsupported";
    case Code::kIoError:
      return "io error";
    case Code::kNoSpace:
      return "no space";
    case Code::kReadOnly:
      return "read only";
    case Code::kCorruption:
      return "corruption";
    case Code::kBusy:
      return "busy";
    case Code::kInternal:
      return "internal error";
  }
  return "unknown code";
}

std::string Status::ToString() const {
  std::string text(CodeName(code_));
  if (!message_.empty()) text.append(": ").append(message_);
  return text;
}

}  // namespace kvdyno
