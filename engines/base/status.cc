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

struct Status::Detail {
  std::string message;
  std::string file;
  uint64_t offset = 0;
};

Status::Status(Code code, std::string message) : code_(code) {
  if (!message.empty()) detail_.reset(new Detail{std::move(message), {}, 0});
}

void Status::Free::operator()(Detail* detail) const { delete detail; }

Status::DetailPtr Status::Clone(const Detail& detail) { return DetailPtr(new Detail(detail)); }

const Status::Detail& Status::Nothing() {
  static const Detail nothing;
  return nothing;
}

Status Status::WithPlace(std::string file, uint64_t offset) const {
  if (ok()) return {};
  Status placed(code_);
  placed.detail_.reset(new Detail{message(), std::move(file), offset});
  return placed;
}

const std::string& Status::message() const { return (detail_ ? *detail_ : Nothing()).message; }
const std::string& Status::file() const { return (detail_ ? *detail_ : Nothing()).file; }
uint64_t Status::offset() const { return detail_ ? detail_->offset : 0; }

std::string Status::ToString() const {
  std::string text(CodeName(code_));
  if (!message().empty()) text.append(": ").append(message());
  if (!file().empty()) {
    text.append(" (").append(file()).append(" at offset ");
    text.append(std::to_string(offset())).append(")");
  }
  return text;
}

}  // namespace kvdyno
