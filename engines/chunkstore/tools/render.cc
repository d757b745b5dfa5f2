#include "tools/render.h"

#include <algorithm>

namespace chunkstore {

namespace {

std::string Scalar(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

bool IsFlat(const Json& value) {
  return std::all_of(value.begin(), value.end(),
                     [](const Json& member) { return !member.is_structured(); });
}

void Render(const Json& value, size_t indent, std::string* text);

void RenderElement(const Json& element, size_t indent, std::string* text) {
  if (!element.is_object() || !IsFlat(element)) {
    text->append(indent, ' ').append("-\n");
    Render(element, indent + 2, text);
    return;
  }
  text->append(indent, ' ').append("-");
  for (const auto& [name, member] : element.items()) {
    text->append(" ").append(name).append("=").append(Scalar(member));
  }
  text->append("\n");
}

void Render(const Json& value, size_t indent, std::string* text) {
  if (!value.is_object()) {
    text->append(indent, ' ').append(Scalar(value)).append("\n");
    return;
  }
  for (const auto& [name, member] : value.items()) {
    text->append(indent, ' ').append(name).append(":");
    if (!member.is_structured()) {
      text->append(" ").append(Scalar(member)).append("\n");
    } else if (member.empty()) {
      text->append(" none\n");
    } else {
      text->append("\n");
      if (member.is_object()) Render(member, indent + 2, text);
      if (!member.is_array()) continue;
      for (const Json& element : member) {
        if (element.is_structured()) {
          RenderElement(element, indent + 2, text);
        } else {
          Render(element, indent + 2, text);
        }
      }
    }
  }
}

}  // namespace

std::string RenderText(const Json& document) {
  std::string text;
  Render(document, 0, &text);
  return text;
}

std::string RenderJson(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace chunkstore
